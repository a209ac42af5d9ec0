import pytest

from dglkgmix.cli.degrees import degrees
from dglkgmix.cli.main import main
from tests.cli.conftest import call, call_json


def test_json_to_the_number(toy_folder):
    """Degrees in: a 3, b 2, c 5, d 2; each of a tail's n edges has n - 1 partners: 6+2+20+2."""
    assert call_json(degrees, toy_folder) == {
        "pairs": 8,
        "below_threshold": 12,
        "without_partner": 0,
        "synthetic_per_epoch": 30,
        "bins": {
            "train": {"zero": 0, "low": 12, "medium": 0, "high": 0},
            "valid": {"zero": 3, "low": 1, "medium": 0, "high": 0},
            "test": {"zero": 2, "low": 2, "medium": 0, "high": 0},
        },
    }


def test_settings_and_reading_options(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("o,s,p\nb,a,r\nb,c,r\nb,c,s\n")
    arguments = ["--header", "--columns", "s,p,o", "--shares", "1,0,0", "--threshold", "2"]
    arguments += ["--partners", "1", "--partner-rule", "strict", "--bins", "1,2"]
    result = call_json(degrees, path, *arguments)
    # (b, r) has degree 2; below 2 are c-s->b with the partner a-r->b, and three reciprocals,
    # of which those with tail c differ in relation, but not in head.
    assert result["below_threshold"] == 4
    assert result["synthetic_per_epoch"] == 1
    assert result["without_partner"] == 3
    assert result["bins"]["train"] == {"[0,1)": 0, "[1,2)": 4, "[2,inf)": 2}


def test_table_for_people(toy_folder):
    page = call(degrees, toy_folder).stdout
    lines = page.splitlines()
    assert lines[0].endswith("5 entities, 3 relations, 6 distinct training triples")
    row = next(line for line in lines if line.strip().startswith("low"))
    assert " ".join(row.split()) == "low [1,10) 8 100.0 % 12 100.0 % 1 25.0 % 2 50.0 %"
    assert "Mixing (threshold 5, 5 partners, rule any)" in page
    assert next(line.split()[-1] for line in lines if "synthetic samples" in line) == "30"
    page = call(degrees, toy_folder, "--bins", "1,2").stdout
    rows = [line.split() for line in page.splitlines()]
    assert ["[1,2)", "4", "50.0", "%", "4", "33.3", "%", "1", "25.0", "%", "0", "0.0", "%"] in rows
    assert ["all", "8", "12", "4", "4"] in rows


def test_plot(toy_folder, tmp_path):
    path = tmp_path / "plot.png"
    shown = call(degrees, toy_folder, "--plot", path).stdout
    assert path.read_bytes().startswith(b"\x89PNG")
    assert shown.rstrip().endswith(f"Figure: {path}")


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["--plot", "x.jpg"], "--plot x.jpg: the name must end in .png, .svg or .pdf"),
        (["--threshold", "-1"], "--threshold"),
    ],
)
def test_what_makes_no_sense_is_told(toy_folder, arguments, what, capsys):
    assert main(["degrees", str(toy_folder), *arguments]) == 2
    captured = capsys.readouterr()
    assert what in captured.err
    assert captured.out == ""
    assert "Traceback" not in captured.err
