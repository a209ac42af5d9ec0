from pathlib import Path

import numpy as np
import pytest

from dglkgmix.errors import DataError
from dglkgmix.kg.degrees import DegreeBins
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.report.subject import (
    best_first,
    isolated,
    read_subjects,
    unique_names,
)


@pytest.fixture(scope="module")
def subjects(run, other_run):
    return read_subjects([run, other_run], "test", DegreeBins())


def test_a_subject_holds_the_runs_own_figures(run, subjects):
    first = subjects[0]
    assert (first.name, first.place, first.model) == ("one", 0, "DistMult")
    ranks = run.rank_table("test")["rank"]
    assert first.account["overall"]["mrr"] == pytest.approx(float(np.mean(1 / ranks)))
    low, high = first.intervals["overall"]
    assert low < first.account["overall"]["mrr"] < high
    assert first.distances["head"] > 0


def test_scaling_is_fitted_on_validation_and_told_before_and_after(subjects):
    found = subjects[0].account["calibration"]
    assert found["scale"] > 0
    before, after = subjects[0].diagram["before scaling"], subjects[0].diagram["after scaling"]
    assert sum(p.size for p in before) == sum(p.size for p in after) == 120
    assert max(p.probability for p in after) <= 1


def test_without_validation_triples_there_is_no_scaling(small_graph, make_run):
    rows = small_graph.train.numpy()
    bare = KnowledgeGraph.from_arrays(rows[:-5], None, rows[-5:])
    (subject,) = read_subjects([make_run("bare", kg=bare)], "test", DegreeBins())
    assert subject.account["calibration"] is None
    assert subject.diagram == {}
    with pytest.raises(DataError, match="valid split holds no triples to report on"):
        read_subjects([subject.run], "valid", DegreeBins())


def test_names_are_as_short_as_they_can_be():
    def names(*paths):
        return unique_names([Path(path) for path in paths])

    assert names("/a/b") == ["b"]
    assert names("/a/x", "/b/y") == ["x", "y"]
    assert names("/a/x", "/b/x", "/b/y") == ["a/x", "b/x", "y"]
    assert names("/a/x", "/a/x") == ["x (1)", "x (2)"]


@pytest.mark.parametrize("name", ["ריצה", "run تشغيل", "run ٣", "a\u202eb"])
def test_names_with_letters_from_right_to_left_are_isolated(name):
    assert isolated(name) == f"\u2068{name}\u2069"


@pytest.mark.parametrize("name", ["", "run 3 (a)", "Łódź", "東京"])
def test_other_names_stay_as_they_are(name):
    assert isolated(name) == name


def test_the_best_run_comes_first(subjects):
    by_mrr = sorted(subjects, key=lambda s: -s.account["overall"]["mrr"])
    assert best_first(subjects) == best_first(subjects[::-1]) == by_mrr
