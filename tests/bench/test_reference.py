import json
import sys

import pytest

from bench import reference

SCRIPT = "import sys; open(sys.argv[1], 'a').write(sys.argv[2])"
COMMAND = f'"{sys.executable}" {{path}}/main.py {{path}}/log'


def test_an_epoch_is_the_difference_and_the_rest_what_remains():
    seconds = {
        ("reference", 1): [15.0, 14.0, 99.0],  # median 15
        ("reference", 3): [35.0],  # 10 an epoch, 5 besides
        ("dglkgmix", 1): [6.0],
        ("dglkgmix", 3): [14.0],  # 4 an epoch, 2 besides
    }
    epoch, rest = reference._rows(seconds, 1, 3)
    assert (epoch["reference"], epoch["dglkgmix"], epoch["ratio"]) == (10, 4, 2.5)
    assert (rest["reference"], rest["dglkgmix"], rest["ratio"]) == (5, 2, 2.5)


def test_both_sides_take_turns(tmp_path, monkeypatch):
    (tmp_path / "main.py").write_text(SCRIPT)
    monkeypatch.setattr("bench.report.describe", dict)
    sides = ("--command", f"{COMMAND} r{{epochs}}", "--ours", f"{COMMAND} d{{epochs}}")
    out = tmp_path / "out"
    assert not reference.main(
        ["--path", str(tmp_path), *sides, "--epochs", "2", "5", "--repeats", "2", "--out", str(out)]
    )
    assert (tmp_path / "log").read_text() == "r2d2r5d5" * 2
    assert len(json.loads((out / "reference.json").read_text())["rows"]) == 2


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"--path": "nowhere"}, "nowhere: no such folder"),
        ({"--ours": "true"}, "--ours needs {epochs}"),
        ({"--command": "false {epochs}"}, "false 1: exit status 1"),
    ],
)
def test_what_cannot_be_compared_is_refused(tmp_path, capsys, changed, message):
    given = {"--path": str(tmp_path), "--command": "true {epochs}", "--ours": "true {epochs}"}
    with pytest.raises(SystemExit) as found:
        reference.main([word for pair in (given | changed).items() for word in pair])
    assert message in capsys.readouterr().err + str(found.value)
