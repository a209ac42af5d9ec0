from dglkgmix.cli.columns import WIDEST, account_table, aligned, number, share


def test_first_column_left_others_right():
    assert aligned([["name", "n"], ["a", "1,000"]]) == "  name      n\n  a     1,000"


def test_chosen_columns_right():
    rows = [["a", "1", "x"], ["bb", "22", ""]]
    assert aligned(rows, right={1}, indent="") == "a    1  x\nbb  22"


def test_a_long_name_is_cut_so_that_it_does_not_pad_every_row():
    rows = [["x" * WIDEST, "1", "x" * 99], ["y" * 99, "2", ""]]
    first, second = aligned(rows, indent="").splitlines()
    assert first == f"{'x' * 60}  1  {'x' * 99}"
    assert second == f"{'y' * 59}…  2"


def test_names_of_wide_letters_and_of_marks_line_up():
    # 東京 takes four places, e with a mark one, and 30 wide letters with 5 others 65.
    rows = [["東京", "1"], ["Ze\u0301", "2"], ["ab", "3"], ["abcde" + "東" * 30, "4"]]
    first, second, third, fourth = aligned(rows, indent="").splitlines()
    assert fourth == f"abcde{'東' * 27}…  4"
    assert first == f"東京{' ' * 56}  1"
    assert second == f"Ze\u0301{' ' * 58}  2"
    assert third == f"ab{' ' * 58}  3"


def test_a_missing_figure_is_a_dash():
    assert number(None) == number(float("nan")) == "–"
    assert number(0.5) == "0.5000"


def test_share():
    assert share(1, 8) == "12.5 %"
    assert share(0, 0) == "-"


EMPTY = {"mrr": None, "mr": None, "hits@1": None, "hits@3": None, "hits@10": None, "queries": 0}
FULL = {"mrr": 1 / 3, "mr": 1234.5, "hits@1": 0.25, "hits@3": 0.5, "hits@10": 1.0, "queries": 3656}


def test_it_lines_up_and_shows_dashes_where_nothing_was_asked():
    account = {"overall": FULL, "bins": {"zero": EMPTY, "high": FULL}, "entities": None}
    lines = account_table("test", account).splitlines()
    assert lines[0].split() == ["queries", "MRR", "Hits@1", "Hits@3", "Hits@10", "mean", "rank"]
    assert lines[1].split() == [
        "test", "overall", "3,656", "0.3333", "0.2500", "0.5000", "1.0000", "1,234.5",
    ]  # fmt: skip
    assert lines[2].split() == ["zero", "0", "-", "-", "-", "-", "-"]
    assert len({len(line) for line in lines}) == 1
