import pytest

from dglkgmix.passwords import hide_passwords


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://u:s3cret@host/db", "postgresql://u:***@host/db"),
        ("postgresql://u@corp:s3cret@host/db", "postgresql://u@corp:***@host/db"),
        ("mysql+pymysql://u:s3/c:r@t@host:3306/db", "mysql+pymysql://u:***@host:3306/db"),
        ("redis://:s3cret@host:6379/0", "redis://:***@host:6379/0"),
        ("postgresql://host/db?user=u&password=s3cret", "postgresql://host/db?user=u&password=***"),
        ("mysql://host/db?PassWd=s3cret&ssl=1", "mysql://host/db?PassWd=***&ssl=1"),
        ("mysql://u:s3cret@host?sslpassword=other", "mysql://u:***@host?sslpassword=***"),
        ("postgresql://u@host:5432/db", "postgresql://u@host:5432/db"),
        ("sqlite:////tmp/u:b/study.db", "sqlite:////tmp/u:b/study.db"),
        ("http://example.org/a?q=1", "http://example.org/a?q=1"),
    ],
)
def test_passwords_of_addresses_are_hidden(address, shown):
    assert hide_passwords(address) == shown
    assert hide_passwords(f"{address}: no '{address}'") == f"{shown}: no '{shown}'"


def test_the_password_of_a_known_address_is_hidden_wherever_it_stands():
    address = "postgresql://u:a b%27c@host/db?passphrase=it's"
    text = f"{address} fails: 'a b%27c' is not \"a b'c\", nor it's"
    shown = "postgresql://u:***@host/db?passphrase=***"
    assert hide_passwords(text, address) == f"{shown} fails: '***' is not \"***\", nor ***"
    assert hide_passwords("for user u: postgresql", "postgresql://u:postgres@h") == (
        "for user u: postgresql"
    )
