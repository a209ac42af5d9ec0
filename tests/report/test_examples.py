from dataclasses import replace

import numpy as np
import pytest

from dglkgmix.evaluation.metrics import bin_of
from dglkgmix.evaluation.neighbours import Neighbours
from dglkgmix.kg.degrees import DegreeBins
from dglkgmix.prediction.facts import Triple
from dglkgmix.prediction.why import Explainer
from dglkgmix.report.examples import TOP, find_examples
from dglkgmix.report.subject import read_subjects

BINS = DegreeBins((1, 3))


@pytest.fixture(scope="module")
def subject(run):
    return read_subjects([run], "test", BINS)[0]


@pytest.fixture(scope="module")
def examples(subject):
    return find_examples(subject, BINS)


def test_a_guess_is_right_exactly_where_the_rank_says_so(examples):
    assert {e.bin_name for e in examples} == set(BINS.names)
    assert len(examples) <= 2 * len(BINS.names)
    for e in examples:
        assert (e.head, e.tail).count("?") == 1
        right = [i for i, guess in enumerate(e.guesses, start=1) if guess.name == e.answer]
        assert right == ([e.rank] if e.rank <= TOP else [])


def test_no_other_known_answer_is_guessed(subject, examples):
    kg = subject.run.kg
    known = {
        (kg.entities[h], kg.relations[r], kg.entities[t])
        for split in ("train", "valid", "test")
        for h, r, t in kg.split(split).tolist()
    }
    for e in examples:
        for guess in e.guesses:
            triple = tuple(guess.name if x == "?" else x for x in (e.head, e.relation, e.tail))
            assert guess.name == e.answer or triple not in known


def test_the_first_answers_come_with_what_training_holds(subject, examples):
    explainer = Explainer(subject.run.kg, Neighbours(subject.run.kg, subject.run.model))
    for e in examples:
        asked = "head" if e.head == "?" else "tail"
        fact = Triple(e.head, e.relation, e.tail)
        firsts = [replace(fact, **{asked: guess.name}) for guess in e.guesses[:3]]
        expected = [explainer.why(first, asked) for first in firsts]
        assert [guess.why for guess in e.guesses] == [*expected, None, None]


def test_every_answer_shown_has_a_probability(examples):
    for e in examples:
        assert all(0 <= guess.probability <= 1 for guess in e.guesses)


def test_an_easy_and_a_hard_query_of_each_bin(subject, examples):
    ranks, bins = subject.table["rank"], bin_of(subject.table, BINS)
    for group, name in enumerate(BINS.names):
        own = np.sort(ranks[bins == group])
        wanted = [own[round(q * (len(own) - 1))] for q in (0.25, 0.75)]
        assert [e.rank for e in examples if e.bin_name == name] == wanted
