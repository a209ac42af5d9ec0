"""X as columns, names as ids."""

import numpy as np
import pandas as pd
import pytest

from dglkgmix.errors import DataError
from dglkgmix.estimator.columns import Names, as_column, split_columns


def test_strings_stay_what_they_are():
    columns = split_columns([["NA", "1.0", " x "], ["None", "r", "true"]], (3,))
    expected = [["NA", "None"], ["1.0", "r"], [" x ", "true"]]
    assert [column.tolist() for column in columns] == expected


def test_categories_are_their_names():
    frame = pd.DataFrame({"h": pd.Categorical(["a", "b"]), "r": ["x", "x"]})
    assert split_columns(frame, (2,))[0].tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([["a", "r"]], r"2 feature\(s\).*minimum of 3 is required"),
        ([["a", "r", "b", 2021]], r"4 feature\(s\).*maximum of 3 is required"),
        (["a", "r", "b"], "2-dimensional"),
        (np.array([[0.0, 1.0, 2.0]]), r"row 0, column 0 \(head\): 0.0 is a float"),
        ([[0, 1, 2.0]], r"row 0, column 2 \(tail\): 2.0 is a float"),
        ([["a", "r", "b"], ["a", 3, "b"]], r"row 1, column 1 \(relation\): 3 is a int"),
        ([[1, 0, True]], r"row 0, column 2 \(tail\): True is a bool"),
        (np.array([[True, False, True]]), r"row 0, column 0 \(head\): True is a bool"),
        ([[1, 0, 2**63]], r"column 2 \(tail\): an integer beyond 64 bits"),
        (np.array([[1, 0, 2**63]], dtype=np.uint64), r"column 2 \(tail\): an integer beyond"),
        ([["a", "r", "b"], ["a"]], "X: row 1 has not the 3 columns of row 0"),
    ],
)
def test_anything_else_is_refused_by_place(rows, message):
    with pytest.raises(DataError, match=message):
        split_columns(rows, (3,))


@pytest.mark.parametrize("gap", [float("nan"), None, pd.NA, pd.NaT, np.float64("nan")], ids=repr)
@pytest.mark.parametrize("column", [0, 1, 2])
def test_missing_values_are_refused_by_row_and_column(gap, column):
    """Case 50: in lists, arrays and frames alike."""
    rows = [["a", "r", "b"], ["b", "r", "a"], ["b", "r", "c"]]
    rows[1][column] = gap
    role = ("head", "relation", "tail")[column]
    message = rf"row 1, column {column} \({role}\): a missing value"
    for X in (rows, np.array(rows, dtype=object), pd.DataFrame(rows)):
        with pytest.raises(DataError, match=message):
            split_columns(X, (3,))


@pytest.mark.parametrize(
    ("bad", "what"), [("", "an empty name"), ("a\ud800", r"'a\\ud800' cannot")]
)
def test_names_that_no_graph_can_hold_are_refused_by_row_and_column(bad, what):
    with pytest.raises(DataError, match=rf"row 1, column 1 \(relation\): {what}"):
        split_columns([["a", "r", "b"], ["é", bad, "b"]], (3,))
    with pytest.raises(DataError, match=rf"row 1, y \(tail\): {what}"):
        as_column(["日本", bad])


@pytest.mark.parametrize("kind", ["float64", "Int64", "category", "string", "datetime64[ns]"])
def test_missing_values_in_typed_columns_of_a_frame(kind):
    relations = pd.Series([1, 2, None]).astype("float64" if kind == "float64" else "Int64")
    frame = pd.DataFrame({"h": list("abc"), "r": relations.astype(kind), "t": list("abc")})
    with pytest.raises(DataError, match=r"row 2, column 1 \(relation\): a missing value"):
        split_columns(frame, (3,))


def test_a_list_means_what_an_object_array_means():
    """Case 50."""
    rows = [["a", 7, "b"], ["b", 8, "c"]]
    for X in (rows, np.array(rows, dtype=object), pd.DataFrame(rows)):
        heads, relations, tails = split_columns(X, (3,))
        assert (heads.tolist(), tails.tolist()) == (["a", "b"], ["b", "c"])
        assert relations.dtype == np.int64
        assert relations.tolist() == [7, 8]


def test_tails_of_y():
    assert as_column([[4], [5]]).tolist() == [4, 5]
    assert as_column(pd.Series(["b", "a"])).tolist() == ["b", "a"]
    with pytest.raises(DataError, match="one column of tails"):
        as_column([[1, 2]])
    with pytest.raises(DataError, match=r"row 1, y \(tail\): a missing value \(nan\)"):
        as_column(["a", float("nan")])


def test_ids_are_positions_whatever_the_order():
    names = Names(np.array(["b", "a", "c"], dtype=object))
    asked = np.array(["c", "a", "x", "b", "zz"], dtype=object)
    assert names.ids(asked).tolist() == [2, 1, -1, 0, -1]
    assert names.ids(np.array([1, 2])).tolist() == [-1, -1]


def test_distinct_names_ascend_and_have_one_kind():
    names = Names.of(np.array([10, 9]), np.array([2, 10]), what="entities")
    assert names.values.tolist() == [2, 9, 10]
    with pytest.raises(DataError, match="entities must all be strings or all integers"):
        Names.of(np.array([1]), np.array(["a"], dtype=object), what="entities")


def test_a_masked_value_is_a_missing_one():
    X = np.ma.masked_array([[1, 0, 2], [2, 0, 999]], mask=[[0, 0, 0], [0, 0, 1]])
    with pytest.raises(DataError, match=r"row 1, column 2 \(tail\): a missing value"):
        split_columns(X, (3,))
