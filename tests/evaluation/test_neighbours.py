import math

import pytest
import torch

from dglkgmix.errors import ConfigError, NumericError, UnknownNameError
from dglkgmix.evaluation.neighbours import Neighbour, Neighbours
from tests.evaluation.stand_ins import model


@pytest.fixture
def near(toy):
    """Entities a b c d lone and relations likes knows only_valid with vectors of two numbers."""
    built = model(toy, "distmult")
    with torch.no_grad():
        entities, relations = built.encoder.entity_table, built.encoder.relation_table
        entities.zero_()
        entities[:, :2] = torch.tensor([[3.0, 0], [1, 1], [-2, 0], [0, 0], [5, 0]])
        relations.zero_()
        relations[:, :2] = torch.tensor([[1.0, 0], [0, 1], [3, 4], [0, 2], [4, 3], [-1, 0]])
    return Neighbours(toy, built)


def test_entities_by_the_cosine_of_their_vectors(toy, near):
    found = near.of("a")
    assert [n.name for n in found] == ["lone", "b", "d", "c"]
    assert [n.cosine for n in found] == pytest.approx([1, math.sqrt(0.5), 0, -1])
    counts = torch.bincount(toy.edges[:, 2], minlength=5).tolist()
    assert [n.degree for n in found] == [counts[i] for i in (4, 1, 3, 2)]
    assert not any(n.reciprocal for n in found)
    assert near.of("a", 2) == found[:2]


def test_relations_with_their_reciprocals(toy, near):
    likes = int((toy.edges[:, 1] == 0).sum())
    found = near.of("knows", relation=True)
    assert [(n.name, n.reciprocal) for n in found] == [
        ("likes", True),
        ("only_valid", False),
        ("knows", True),
        ("likes", False),
        ("only_valid", True),
    ]
    assert [n.cosine for n in found] == pytest.approx([1, 0.8, 0.6, 0, 0])
    assert found[0] == Neighbour("likes", found[0].cosine, likes, reciprocal=True)
    assert found[1].degree == 0


def test_full_turns_of_rotate_are_the_same_relation(toy):
    built = model(toy, "rotate")
    with torch.no_grad():
        built.encoder.relation_table[0] = 0.5
        built.encoder.relation_table[1] = 0.5 + 2 * math.pi
        built.encoder.relation_table[2] = 0.5 + math.pi
    cosines = Neighbours(toy, built).cosines(0, relation=True)
    assert cosines[:3].tolist() == pytest.approx([1, 1, -1], abs=1e-5)


def test_an_encoder_s_vectors_are_those_that_the_decoder_reads(toy):
    built = model(toy, "distmult")
    with torch.no_grad():
        vectors = built.encode()
    flipped = type(vectors)(vectors.entities.flip(0), vectors.relations)
    found = Neighbours(toy, built, flipped).cosines(0)
    torch.testing.assert_close(found, Neighbours(toy, built).cosines(4).flip(0))


def test_what_cannot_be(near):
    with pytest.raises(UnknownNameError, match="'lon'; close matches: 'lone'"):
        near.of("lon")
    with pytest.raises(UnknownNameError, match="unknown relation 'a'"):
        near.of("a", relation=True)
    with pytest.raises(ConfigError, match="top must be at least 1, not 0"):
        near.of("a", 0)
    near.entities[2, 1] = torch.nan
    with pytest.raises(NumericError, match="not all finite"):
        near.of("a")
