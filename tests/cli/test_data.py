import json
from pathlib import Path

import pytest

from dglkgmix.cli.main import main
from dglkgmix.kg import catalog

INFO_KEYS = [
    "entities", "relations", "train", "valid", "test",
    "duplicates", "overlap", "reciprocal_leakage",
    "valid_mirrors", "test_mirrors", "inverse_pairs", "self_loops",
    "entities_only_in_valid", "entities_only_in_test",
    "relations_only_in_valid", "relations_only_in_test",
    "entities_not_in_train", "relations_not_in_train",
    "entities_alike", "relations_alike", "alike", "relation_rows", "inverse_relations",
]  # fmt: skip


def info(source, capsys, *arguments):
    assert main(["data", "info", str(source), "--json", *arguments]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return json.loads(captured.out)


def test_info_as_json(toy_folder, capsys):
    result = info(toy_folder, capsys)
    assert list(result) == INFO_KEYS
    assert list(result.values())[:19] == [5, 3, 6, 2, 2, 0, 0, 0, 1, 0, 0, 1, 0, 1, 1, 0, 1, 1, 0]
    assert result["alike"] == {"entities": [], "relations": []}
    assert sum(row["train"] for row in result["relation_rows"]) == 6
    assert [row["train"] for row in result["relation_rows"]] == [3, 3, 0]
    assert result["inverse_relations"] == []


def test_info_tells_inverse_relations(tmp_path, capsys):
    pairs = [("a", "b"), ("c", "d"), ("e", "f")]
    rows = [f"{h}\tparent of\t{t}\n{t}\tchild \x1bof\t{h}\n" for h, t in pairs]
    (tmp_path / "x.tsv").write_text("".join(rows) + "a\tparent of\tg\n")
    assert info(tmp_path / "x.tsv", capsys)["inverse_relations"] == [
        {"relation": "child \x1bof", "inverse": "parent of", "share": 1.0}
    ]
    assert main(["data", "info", str(tmp_path / "x.tsv")]) == 0
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "  relation      inverse    triples with their reverse",
        "  child \\x1bof  parent of                        100%",
    ]


def test_info_marks_functional_relations(tmp_path, capsys):
    """Twenty towns lie in a country each."""
    rows = [f"town {i}\tlies in\tcountry {i % 2}\n" for i in range(20)]
    (tmp_path / "x.tsv").write_text("".join(rows))
    (row,) = info(tmp_path / "x.tsv", capsys, "--shares", "1,0,0")["relation_rows"]
    assert (row["functional"], row["inverse_functional"]) == (True, False)
    assert main(["data", "info", str(tmp_path / "x.tsv"), "--shares", "1,0,0"]) == 0
    assert "  lies in      20      0     0  functional" in capsys.readouterr().out.splitlines()


def test_info_for_people(toy_folder, capsys):
    assert main(["data", "info", str(toy_folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == str(toy_folder)
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


def test_names_that_look_alike_are_counted_with_examples(alike, capsys):
    """Case 63."""
    found = info(alike, capsys, "--shares", "1,0,0")
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
    assert main(["data", "info", str(alike), "--shares", "1,0,0"]) == 0
    lines = capsys.readouterr().out.splitlines()
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
def test_names_that_look_alike_can_be_joined(alike, options, entities, groups, capsys):
    found = info(alike, capsys, "--shares", "1,0,0", *options)
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


def test_control_characters_do_not_reach_the_terminal(tmp_path, capsys):
    folder = tmp_path / "x\x1b[31m"
    folder.mkdir()
    (folder / "train.txt").write_text("a\tr\tb\n")
    assert main(["data", "info", str(folder)]) == 0
    (folder / "train.txt").write_text("a\tr\n")
    assert main(["data", "info", str(folder)]) == 2
    captured = capsys.readouterr()
    assert "\x1b" not in captured.out + captured.err
    assert "x\\x1b[31m" in captured.out


@pytest.mark.parametrize("out", ["out", "out.parquet", "out.dgl"])
def test_convert_keeps_what_info_counts(toy_folder, tmp_path, out, capsys):
    before = info(toy_folder, capsys)
    assert main(["data", "convert", str(toy_folder), str(tmp_path / out)]) == 0
    written = capsys.readouterr().out.split()
    assert all(Path(path).is_file() for path in written)
    assert len(written) == (1 if out == "out.dgl" else 3)
    assert info(tmp_path / out, capsys) == before


def test_convert_by_option_and_overwrite(toy_folder, tmp_path, capsys):
    out = tmp_path / "x"
    command = ["data", "convert", str(toy_folder), str(out), "--to", "parquet"]
    assert main(command) == 0
    assert sorted(path.name for path in out.iterdir()) == [
        "test.parquet", "train.parquet", "valid.parquet",
    ]  # fmt: skip
    assert main(command) == 2
    assert "--overwrite" in capsys.readouterr().err
    assert main([*command, "--overwrite"]) == 0


def test_list(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DGLKGMIX_DATA", str(tmp_path))
    assert main(["data", "list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == list(catalog.names())
    keys = ["name", "entities", "relations", "train", "valid", "test", "summary", "licence", "here"]
    assert all(list(row) == keys for row in rows)
    assert [row["name"] for row in rows if row["here"]] == ["world"]
    assert main(["data", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == len(rows) + 1
    assert next(line for line in lines if line.startswith("fb15k-237")).split()[1] == "14,541"


def test_fetch_prints_the_folder(capsys):
    assert main(["data", "fetch", "world"]) == 0
    folder = Path(capsys.readouterr().out.rstrip())
    assert (folder / "train.txt").is_file()
    assert main(["data", "fetch", "wrld"]) == 2
    assert "did you mean world" in capsys.readouterr().err
