"""Small graphs: drawn by hypothesis, and between the plain and the library's form."""

from __future__ import annotations

from hypothesis import strategies as st

from dglkgmix.kg.graph import KnowledgeGraph
from tests.evaluation.plain import Graph


@st.composite
def graphs(draw, *, tests=1):
    """Graphs with duplicates, self-loops, overlapping splits and shared filters."""
    E, R = draw(st.integers(1, 6)), draw(st.integers(1, 3))
    triple = st.tuples(st.integers(0, E - 1), st.integers(0, R - 1), st.integers(0, E - 1))
    return Graph(
        E,
        R,
        draw(st.lists(triple, min_size=1, max_size=15)),
        draw(st.lists(triple, max_size=6)),
        draw(st.lists(triple, min_size=tests, max_size=8)),
    )


def library(graph):
    """The same graph as the library holds it; entities e0, e1, … and relations r0, r1, …."""
    return KnowledgeGraph.from_arrays(
        graph.train,
        graph.valid,
        graph.test,
        entities=[f"e{i}" for i in range(graph.E)],
        relations=[f"r{i}" for i in range(graph.R)],
    )
