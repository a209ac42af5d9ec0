from __future__ import annotations

import pytest

from dglkgmix.errors import DataError, UnknownNameError
from dglkgmix.evaluation.false_triples import read_false_triples


@pytest.fixture
def write(tmp_path):
    def write(*rows):
        path = tmp_path / "false.txt"
        path.write_text("".join("\t".join(row) + "\n" for row in rows))
        return path

    return write


def test_names_become_ids_once_each(toy, write):
    path = write(("lone", "likes", "a"), ("c", "knows", "d"), ("lone", "likes", "a"))
    found = read_false_triples(path, toy).tolist()
    assert sorted(found) == sorted(
        [toy.entities.id(h), toy.relations.id(r), toy.entities.id(t)]
        for h, r, t in (("lone", "likes", "a"), ("c", "knows", "d"))
    )


def test_true_ones_are_left_out_with_a_warning(toy, write, caplog):
    path = write(("a", "likes", "b"), ("b", "likes", "a"), ("c", "knows", "d"))
    assert len(read_false_triples(path, toy)) == 1
    assert "2 of 3 triples are true" in caplog.text
    with pytest.raises(DataError, match="no false triples"):
        read_false_triples(write(("a", "likes", "b")), toy)


def test_an_unknown_name_is_told_with_the_file(toy, write):
    with pytest.raises(UnknownNameError, match=r"false\.txt: .*'lonee'.*'lone'"):
        read_false_triples(write(("lonee", "likes", "a")), toy)
