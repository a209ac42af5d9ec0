from pathlib import Path

import pytest

from dglkgmix.errors import ConfigError, DataError
from dglkgmix.kg import ROLES
from dglkgmix.kg.options import ReadOptions, choose_columns, is_split_file


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("train.txt", "tsv"),
        ("train.tsv.gz", "tsv"),
        ("x.CSV", "csv"),
        ("x.parquet.zst", "parquet"),
        ("x.nt.xz", "ntriples"),
        ("x.ttl", "turtle"),
        ("x.dat", "tsv"),
        ("x", "tsv"),
    ],
)
def test_format_by_ending(name, form):
    assert ReadOptions().format_of(Path(name)) == form
    assert ReadOptions(format="csv").format_of(Path(name)) == "csv"


@pytest.mark.parametrize(
    ("columns", "names", "expected"),
    [
        (None, None, (3, (0, 1, 2))),
        (["tail", "relation", "head"], None, (3, (2, 1, 0))),
        (["_", "head", "_", "relation", "tail"], None, (5, (1, 3, 4))),
        (None, ["s", "p", "o"], (3, (0, 1, 2))),
        (None, ["tail", "weight", "relation", "head"], (4, (3, 2, 0))),
        (["s", "p", "o"], ["o", "p", "s", "x"], (4, (2, 1, 0))),
        (["head", "tail", "relation"], ["s", "o", "p"], (3, (0, 2, 1))),
        (["head", "relation", "tail"], ["head", "relation", "tail"], (3, (0, 1, 2))),
        (["head", "relation", "tail"], ["tail", "x", "relation", "head"], (4, (3, 2, 0))),
        (["_", "head", "relation", "tail"], ["x", "s", "relation", "o"], (4, (1, 2, 3))),
    ],
)
def test_columns(columns, names, expected):
    assert choose_columns(columns, names, "x") == expected


@pytest.mark.parametrize(
    ("columns", "names", "what"),
    [
        (None, ["s", "p", "o", "x"], "cannot tell"),
        (["s", "p", "z"], ["s", "p", "o"], "no column 'z'"),
        (["s", "p", "o"], ["s", "p", "o", "s"], "cannot tell"),
        (["head", "relation", "tail"], ["s", "p", "o", "x"], "no column 'head'"),
        # Three names of the header, or three places of a wider file? Neither is sure.
        (["tail", "relation", "head"], ["s", "p", "o", "head", "relation", "tail"], "cannot tell"),
    ],
)
def test_columns_that_cannot_be_told(columns, names, what):
    with pytest.raises(DataError, match=rf"f\.csv:1: {what} .* 's', 'p', 'o'.*--columns"):
        choose_columns(columns, names, "f.csv:1")


@pytest.mark.parametrize(
    ("columns", "names", "what"),
    [
        (["tail", "relation", "head"], ["Head", "Relation", "Tail"], "contradicts the header"),
        (["tail", "relation", "head"], list(ROLES), "contradicts the header, which names the col"),
        (["head", "_", "relation", "tail"], ["head", "tail", "x", "y"], "columns 'head', 'tail'"),
        (["s", "p", "o"], None, "--header"),
    ],
)
def test_columns_that_contradict_the_header(columns, names, what):
    """Case 66; names need a header."""
    with pytest.raises(ConfigError, match=what):
        choose_columns(columns, names, "f.csv:1")


@pytest.mark.parametrize(
    "options",
    [
        {"format": "xml"},
        {"normalize": "nfx"},
        {"delimiter": ""},
        {"delimiter": "::"},
        {"delimiter": '"'},
        {"delimiter": "\n"},
        {"delimiter": "é"},
        {"columns": ("head", "tail")},
        {"columns": ("head", "head", "relation", "tail")},
        {"columns": ("a", "b", "a")},
        {"columns": ("a", "b", "c", "d")},
    ],
)
def test_options_that_make_no_sense(options):
    with pytest.raises(ConfigError, match=next(iter(options))):
        ReadOptions(**options)


@pytest.mark.parametrize(
    ("name", "is_split"),
    [
        ("train.txt", True),
        ("train", True),
        ("train.gz", True),
        ("train.ttl.zst", True),
        ("train.bak", False),
        ("train.txt.bak", False),
        ("train2id.txt", False),
        ("mytrain.txt", False),
    ],
)
def test_files_of_a_split(name, is_split):
    assert is_split_file(Path(name), ["train"]) is is_split
