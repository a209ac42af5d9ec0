import os
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from dglkgmix.cli.main import COMMANDS, cli, main
from dglkgmix.cli.outputs import OUT, NonEmpty, OutPath, check_new, check_text
from dglkgmix.errors import ConfigError
from dglkgmix.files import RunFolder

# Options that name a place to write to.
WRITING = {
    "data convert": ["out"],
    "degrees": ["plot"],
    "demo": ["out"],
    "detect-errors": ["runs", "out"],
    "evaluate": ["write_ranks"],
    "experiment": ["out"],
    "export": ["out"],
    "predict": ["out"],
    "report": ["out"],
    "train": ["out", "tensorboard"],
    "tune": ["out"],
}
# They go on with what stands there, or ask for --resume.
GOING_ON = ("experiment", "tune")


def commands():
    """All commands and sub-commands by name."""
    context = click.Context(cli)
    found = {}
    for name in COMMANDS:
        command = cli.get_command(context, name)
        found[name] = command
        if isinstance(command, click.Group):
            found |= {f"{name} {inner}": each for inner, each in command.commands.items()}
    return found


def test_every_place_to_write_to_is_checked_alike():
    """No path that a command writes to may be empty, and each has its --overwrite."""
    checked = {
        name: [p.name for p in command.params if isinstance(p.type, OutPath)]
        for name, command in commands().items()
    }
    assert {name: found for name, found in checked.items() if found} == WRITING
    for name in set(WRITING) - set(GOING_ON):
        assert "overwrite" in [p.name for p in commands()[name].params], name


@pytest.mark.parametrize("value", ["", " "])
@pytest.mark.parametrize("kind", [OUT, NonEmpty()])
def test_an_empty_name_is_a_usage_error(value, kind):
    """As an unset variable of the shell makes it: the current folder was not meant."""

    @click.command()
    @click.option("--out", type=kind)
    def write(out):
        raise AssertionError(out)

    result = CliRunner().invoke(write, ["--out", value])
    assert result.exit_code == 2
    assert "is empty" in result.output


def test_what_stands_there_is_kept_unless_asked(tmp_path):
    file = tmp_path / "answers.csv"
    check_new(file, "--out", overwrite=False)
    check_new(None, "--out", overwrite=False)
    file.write_text("mine")
    check_new(file, "--out", overwrite=True)
    with pytest.raises(ConfigError, match=r"--out .*answers\.csv: exists; .* --overwrite"):
        check_new(file, "--out", overwrite=False)
    with pytest.raises(ConfigError, match="--overwrite has no use without --out"):
        check_new(None, "--out", overwrite=True)


@pytest.mark.parametrize(
    "command",
    [
        "degrees RING --plot x.svg",
        "evaluate RUN --write-ranks x.parquet",
        "predict RUN --head e2 --relation next --out x.csv",
        "report RUN --out x.html",
    ],
)
def test_commands_replace_a_file_only_on_request(
    command, run, ring_folder, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    places = {"RUN": str(run), "RING": str(ring_folder)}
    words = [places.get(word, word) for word in command.split()]
    file = Path(words[-1])
    file.write_text("mine")
    assert main(words) == 2
    assert "exists; choose another name, or pass --overwrite" in capsys.readouterr().err
    assert file.read_text() == "mine"
    assert main([*words, "--overwrite"]) == 0
    assert file.read_bytes() != b"mine"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (
            "evaluate RUN --write-ranks ranks.csv",
            "--write-ranks ranks.csv: the name must end in .p",
        ),
        ("report RUN --out films.tsv", "--out films.tsv: the name must end in .html or .htm"),
    ],
)
def test_the_ending_says_what_is_written_also_where_a_file_may_be_replaced(
    command, message, run, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    words = [str(run) if word == "RUN" else word for word in command.split()]
    file = Path(words[-1])
    file.write_text("mine")
    assert main([*words, "--overwrite"]) == 2
    assert message in capsys.readouterr().err
    assert file.read_text() == "mine"


@pytest.mark.parametrize(
    "command", ["data info", "data convert x", "degrees", "evaluate --baseline popularity --data"]
)
def test_an_empty_source_is_not_the_current_folder(command, ring_folder, monkeypatch, capsys):
    """An unset variable of the shell, in a folder that holds triples."""
    monkeypatch.chdir(ring_folder)
    words = command.split()
    words.insert(2 if "convert" in command else len(words), "")
    assert main(words) == 2
    assert "is empty" in capsys.readouterr().err


def test_a_folder_that_is_missing_is_told_before_any_work(tmp_path):
    with pytest.raises(ConfigError, match=r"--out .*: the folder .*gone does not exist"):
        check_new(tmp_path / "gone" / "answers.csv", "--out", overwrite=False)


def test_a_file_of_a_run_is_never_replaced(tmp_path):
    with RunFolder.create(tmp_path / "run") as folder:
        folder.write("ranks-test.parquet", b"ranks")
        folder.write("last/state.safetensors", b"state")
    for name in ("ranks-test.parquet", "last/state.safetensors", "manifest.json"):
        with pytest.raises(ConfigError, match=r"a file of the run .*run; choose another name"):
            check_new(tmp_path / "run" / name, "--write-ranks", overwrite=True)
    (tmp_path / "run" / "mine.parquet").write_text("mine")
    check_new(tmp_path / "run" / "mine.parquet", "--write-ranks", overwrite=True)


def test_a_path_that_only_bytes_can_name_is_refused_where_text_is_needed(tmp_path):
    """Case 69: TensorBoard and SQLite open no such file."""
    check_text(tmp_path / "\u0141", "--out")
    with pytest.raises(ConfigError, match=r"--out .*: not UTF-8 in this locale"):
        check_text(tmp_path / os.fsdecode(b"d\xff"), "--out")
