import pytest

from dglkgmix.errors import ConfigError
from dglkgmix.experiments import toml_files


def test_unknown_keys_come_with_near_misses_or_the_whole_list():
    toml_files.refuse_unknown({"seeds": 1}, ["seeds", "grid"], "x")
    with pytest.raises(ConfigError, match=r"^x: unknown key 'seed'; did you mean seeds\?$"):
        toml_files.refuse_unknown({"seed": 1}, ["seeds", "grid"], "x")
    with pytest.raises(ConfigError, match=r"unknown key 'zzz'; known: grid, seeds$"):
        toml_files.refuse_unknown({"zzz": 1}, ["seeds", "grid"], "x")
    with pytest.raises(ConfigError, match=r"unknown key 'zzz'$"):
        toml_files.refuse_unknown({"zzz": 1}, [f"option {i}" for i in range(13)], "x")


@pytest.mark.parametrize(
    ("value", "kind", "wanted"),
    [
        ("x", int, "a whole number"),
        (True, int, "a whole number"),
        (True, (int, float), "a whole number or a number"),
        (1, bool, "true or false"),
        (1, list, "a list"),
        ([], dict, "a table"),
        (1.5, str, "a string"),
    ],
)
def test_a_value_of_another_type_is_refused(value, kind, wanted):
    with pytest.raises(ConfigError, match=f"x: key must be {wanted}, not "):
        toml_files.typed({"key": value}, "key", kind, "x")
    assert toml_files.typed({"key": 2}, "key", (int, float), "x") == 2
