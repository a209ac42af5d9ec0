from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dglkgmix.evaluation import distances
from dglkgmix.evaluation.distances import embedding_distances
from dglkgmix.kg.graph import KnowledgeGraph
from tests.evaluation import plain
from tests.evaluation.graphs import graphs, library


@given(
    graph=graphs(),
    threshold=st.integers(0, 5),
    seed=st.integers(0, 99),
    block=st.sampled_from([1, 99]),
)
@settings(max_examples=80, deadline=None)
def test_distances_are_those_of_plain_loops(graph, threshold, seed, block):
    generator = torch.Generator().manual_seed(seed)
    entities = torch.randn(graph.E, 3, generator=generator)
    relations = torch.randn(2 * graph.R, 3, generator=generator)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distances, "BLOCK", block)
        found = embedding_distances(library(graph), entities, relations, threshold)
    head, heads, rel, rels = plain.embedding_distances(
        graph, entities.tolist(), relations.tolist(), threshold
    )
    assert (found["head_triples"], found["relation_triples"]) == (heads, rels)
    assert found["head"] == (None if head is None else pytest.approx(head))
    assert found["relation"] == (None if rel is None else pytest.approx(rel))


def test_nearby_vectors_keep_their_distance():
    kg = KnowledgeGraph.from_arrays([(0, 0, 2), (1, 0, 2)], entities=3)
    entities = torch.tensor([[100.0], [100.001], [0]], dtype=torch.float64)
    found = embedding_distances(kg, entities, torch.zeros(2, 1))
    assert found["head"] == pytest.approx(0.001, rel=1e-9)
