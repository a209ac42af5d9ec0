import pickle

import pytest

from dglkgmix.errors import DataError, OutOfRangeError, UnknownNameError
from dglkgmix.kg.vocabulary import Vocabulary, shown_apart

COUNTRIES = Vocabulary(["Germany", "France", "NA", "nan"], "entity")


def test_names_that_look_alike_are_shown_apart():
    """Case 63: é composed and not, and white space that is seen as a space."""
    names = Vocabulary(["Zo\u00eb", "Bought", "bought"], "entity")
    message = r"unknown entity 'Zoe\\u0308'; close matches: 'Zo\\xeb'$"
    with pytest.raises(UnknownNameError, match=message):
        names.id("Zoe\u0308")
    with pytest.raises(UnknownNameError, match=r"'BOUGHT'; close matches: 'Bought', 'bought'$"):
        names.id("BOUGHT")
    assert names.alike() == [["Bought", "bought"]]
    assert shown_apart(["a b", "a\u00a0b"]) == ["'a b'", r"'a\xa0b'"]
    assert shown_apart(["\u00e9", "e"]) == ["'\u00e9'", "'e'"]


def test_ids_are_positions_and_names_come_back():
    assert [COUNTRIES.id(name) for name in COUNTRIES] == [0, 1, 2, 3]
    assert COUNTRIES.ids(["nan", "Germany"]).tolist() == [3, 0]
    assert [COUNTRIES[i] for i in range(4)] == ["Germany", "France", "NA", "nan"]
    assert len(COUNTRIES) == 4
    assert "NA" in COUNTRIES
    assert "na" not in COUNTRIES
    for index in (-1, 4):
        with pytest.raises(OutOfRangeError, match=f"no entity with id {index}"):
            COUNTRIES[index]


def test_unknown_name_is_told_with_close_matches():
    with pytest.raises(UnknownNameError, match=r"unknown entity 'germny'; close.*'Germany'"):
        COUNTRIES.id("germny")
    with pytest.raises(UnknownNameError) as caught:
        COUNTRIES.ids(["France", "qqqqqqqq"])
    assert str(caught.value) == "unknown entity 'qqqqqqqq'"


def test_close_matches_in_a_large_vocabulary():
    large = Vocabulary([f"Q{i}" for i in range(30_000)] + ["Barcelona"], "entity")
    assert large.close_to("Barcelna") == ["Barcelona"]
    assert COUNTRIES.close_to("FRANCE") == ["France"]


@pytest.mark.parametrize(
    ("names", "what"),
    [
        (["a", "b", "a"], "relation name 'a' occurs twice"),
        (["a", ""], "id 1 has an empty name"),
        (["a", "\ud800"], "UTF-8"),
        (["a", 7], "not int: 7"),
    ],
)
def test_names_that_cannot_be(names, what):
    with pytest.raises(DataError, match=what):
        Vocabulary(names, "relation")


def test_equality_and_pickle():
    copy = pickle.loads(pickle.dumps(COUNTRIES))
    assert copy == COUNTRIES
    assert hash(copy) == hash(COUNTRIES)
    assert copy != Vocabulary(list(COUNTRIES), "relation")
    assert copy.arrow().equals(COUNTRIES.arrow())
    assert repr(copy) == "Vocabulary(4 names of kind 'entity')"
