from dglkgmix.cli.columns import aligned, share


def test_first_column_left_others_right():
    assert aligned([["name", "n"], ["a", "1,000"]]) == "  name      n\n  a     1,000"


def test_chosen_columns_right():
    rows = [["a", "1", "x"], ["bb", "22", ""]]
    assert aligned(rows, right={1}, indent="") == "a    1  x\nbb  22"


def test_share():
    assert share(1, 8) == "12.5 %"
    assert share(0, 0) == "-"
