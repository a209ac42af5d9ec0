import pytest

from dglkgmix.cli.main import main
from dglkgmix.experiments import demo


def test_it_says_where_the_report_is_and_what_to_ask_next(monkeypatch, capsys, tmp_path):
    asked = {}

    def run_demo(out, **options):
        asked.update(options, out=out)
        return {}

    monkeypatch.setattr(demo, "run_demo", run_demo)
    assert (
        main(["demo", "--out", str(tmp_path / "d"), "--seed", "3", "--overwrite", "--quiet"]) == 0
    )
    assert (asked["out"], asked["seed"], asked["overwrite"]) == (tmp_path / "d", 3, True)
    printed = capsys.readouterr().out
    assert str(tmp_path / "d" / "report.html") in printed
    assert f"dglkgmix predict {tmp_path / 'd' / 'mixup'}" in printed


@pytest.mark.parametrize(
    ("typed", "said"),
    [("bin/dglkgmix", "bin/dglkgmix predict"), ("x/__main__.py", "Ask more: dglkgmix predict")],
)
def test_the_next_command_is_said_as_this_one_was_typed(typed, said, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(demo, "run_demo", lambda out, **options: {})
    monkeypatch.setattr("sys.argv", [typed])
    assert main(["demo", "--out", str(tmp_path / "d")]) == 0
    assert said in capsys.readouterr().out
