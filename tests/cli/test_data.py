import json
from pathlib import Path

import pytest

from dglkgmix.cli.data import data
from dglkgmix.cli.main import main
from dglkgmix.kg import catalog
from tests.cli.conftest import call, call_json
from tests.conftest import TOY, write_splits

INFO_KEYS = [
    "entities", "relations", "train", "valid", "test",
    "duplicates", "overlap", "reciprocal_leakage",
    "valid_mirrors", "test_mirrors", "inverse_pairs", "self_loops",
    "entities_only_in_valid", "entities_only_in_test",
    "relations_only_in_valid", "relations_only_in_test",
    "entities_not_in_train", "relations_not_in_train",
    "entities_alike", "relations_alike", "alike", "relation_rows", "inverse_relations",
]  # fmt: skip


def info(source, *arguments):
    result = call(data, "info", source, "--json", *arguments)
    assert result.stderr == ""
    return json.loads(result.stdout)


def test_info_as_json(toy_folder):
    result = info(toy_folder)
    assert list(result) == INFO_KEYS
    assert list(result.values())[:19] == [5, 3, 6, 2, 2, 0, 0, 0, 1, 0, 0, 1, 0, 1, 1, 0, 1, 1, 0]
    assert result["alike"] == {"entities": [], "relations": []}
    assert sum(row["train"] for row in result["relation_rows"]) == 6
    assert [row["train"] for row in result["relation_rows"]] == [3, 3, 0]
    assert result["inverse_relations"] == []


def test_info_tells_inverse_relations(tmp_path):
    pairs = [("a", "b"), ("c", "d"), ("e", "f")]
    rows = [f"{h}\tparent of\t{t}\n{t}\tchild \x1bof\t{h}\n" for h, t in pairs]
    (tmp_path / "x.tsv").write_text("".join(rows) + "a\tparent of\tg\n")
    assert info(tmp_path / "x.tsv")["inverse_relations"] == [
        {"relation": "child \x1bof", "inverse": "parent of", "share": 1.0}
    ]
    assert call(data, "info", tmp_path / "x.tsv").stdout.splitlines()[-2:] == [
        "  relation      inverse    triples with their reverse",
        "  child \\x1bof  parent of                        100%",
    ]


def test_info_marks_functional_relations(tmp_path):
    """Twenty towns lie in a country each."""
    rows = [f"town {i}\tlies in\tcountry {i % 2}\n" for i in range(20)]
    (tmp_path / "x.tsv").write_text("".join(rows))
    given = ("info", tmp_path / "x.tsv", "--shares", "1,0,0")
    (row,) = info(*given[1:])["relation_rows"]
    assert (row["functional"], row["inverse_functional"]) == (True, False)
    assert "  lies in      20      0     0  functional" in call(data, *given).stdout.splitlines()


def test_info_for_people_steers_no_terminal(tmp_path):
    folder = write_splits(tmp_path / "x\x1b[31m", TOY)
    lines = call(data, "info", folder).stdout.splitlines()
    assert lines[0] == str(tmp_path / r"x\x1b[31m")
    assert "  train triples  6" in lines
    assert next(line for line in lines if "only in test" in line).split()[-1] == "1"


COMPOSED, DECOMPOSED = "Zo\u00eb", "Zoe\u0308"
ALIKE = [
    (COMPOSED, "Bought", " Großburg"),
    (DECOMPOSED, "bought", "Großburg"),
    ("ann", "bought", "Ann"),
    ("ann", "sold", "Ann"),
]


@pytest.fixture
def alike(tmp_path):
    path = tmp_path / "alike.tsv"
    path.write_text("".join("\t".join(row) + "\n" for row in ALIKE), encoding="utf-8")
    return path


def test_names_that_look_alike_are_counted_with_examples(alike):
    """Case 63."""
    found = info(alike, "--shares", "1,0,0")
    assert (found["entities_alike"], found["relations_alike"]) == (6, 2)
    assert found["alike"]["entities"] == [
        [COMPOSED, DECOMPOSED],
        [" Großburg", "Großburg"],
        ["ann", "Ann"],
    ]
    rest = {"valid": 0, "test": 0, "functional": False, "inverse_functional": False}
    assert found["relation_rows"] == [
        {"name": "bought", "train": 2} | rest,
        {"name": "Bought", "train": 1} | rest,
        {"name": "sold", "train": 1} | rest,
    ]
    lines = call(data, "info", alike, "--shares", "1,0,0").stdout.splitlines()
    assert r"  'Zo\xeb', 'Zoe\u0308'" in lines
    assert "  ' Großburg', 'Großburg'" in lines
    assert "  bought        2      0     0" in lines


@pytest.mark.parametrize(
    ("options", "entities", "groups"),
    [
        (["--strip"], 5, 2),
        (["--normalize", "nfc"], 5, 2),
        (["--strip", "--normalize", "nfkc"], 4, 1),
    ],
)
def test_names_that_look_alike_can_be_joined(alike, options, entities, groups):
    found = info(alike, "--shares", "1,0,0", *options)
    assert found["entities"] == entities
    assert len(found["alike"]["entities"]) == groups


def test_bad_rows_and_missing_sources(tmp_path, capsys):
    """Cases 31 and 47: what, where, exit status 2 and no traceback."""
    path = tmp_path / "x.txt"
    path.write_text("a\tr\tb\n\nNew York\tUSA\n")
    assert main(["data", "info", str(path)]) == 2
    assert capsys.readouterr().err == (
        f"Error: {path}:3: expected 3 tab-separated fields, found 2\n"
    )
    assert main(["data", "info", str(tmp_path / "gone")]) == 2
    assert "no such file or folder" in capsys.readouterr().err
    assert main(["data", "info", str(tmp_path)]) == 2
    assert "no file for train" in capsys.readouterr().err


@pytest.mark.parametrize("out", ["out", "out.parquet", "out.dgl"])
def test_convert_keeps_what_info_counts(toy_folder, tmp_path, out):
    written = call(data, "convert", toy_folder, tmp_path / out).stdout.split()
    assert all(Path(path).is_file() for path in written)
    assert len(written) == (1 if out == "out.dgl" else 3)
    assert info(tmp_path / out) == info(toy_folder)


def test_convert_by_option_and_overwrite(toy_folder, tmp_path, capsys):
    out = tmp_path / "x"
    command = ["data", "convert", str(toy_folder), str(out), "--to", "parquet"]
    assert main(command) == 0
    names = {f"{split}.parquet" for split in ("train", "valid", "test")}
    assert {path.name for path in out.iterdir()} == names
    assert main(command) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert main([*command, "--overwrite"]) == 0


def test_list(tmp_path, monkeypatch):
    monkeypatch.setenv("DGLKGMIX_DATA", str(tmp_path))
    rows = call_json(data, "list")
    assert [row["name"] for row in rows] == list(catalog.names())
    keys = ["name", "entities", "relations", "train", "valid", "test", "summary", "licence", "here"]
    assert all(list(row) == keys for row in rows)
    assert [row["name"] for row in rows if row["here"]] == ["world"]
    lines = call(data, "list").stdout.splitlines()
    assert len(lines) == len(rows) + 1
    assert next(line for line in lines if line.startswith("fb15k-237")).split()[1] == "14,541"


def test_fetch_prints_the_folder(capsys):
    assert main(["data", "fetch", "world"]) == 0
    folder = Path(capsys.readouterr().out.rstrip())
    assert (folder / "train.txt").is_file()
    assert main(["data", "fetch", "wrld"]) == 2
    assert "did you mean world" in capsys.readouterr().err
