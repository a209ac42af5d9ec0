import pytest

from dglkgmix.kg.connections import shortest_paths
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.kg.index import TripleIndex
from tests.graphs import random_graph


def graph(*rows):
    return KnowledgeGraph.from_names([tuple(row.split()) for row in rows])


def paths(kg, fact, most=3):
    """As ``a-r-b-s-c``; a relation that is followed against its direction is ``<s``."""
    head, relation, tail = fact.split()
    ids = kg.entities.id(head), kg.relations.id(relation), kg.entities.id(tail)
    found = []
    for path in shortest_paths(kg, *ids, most):
        text = kg.entities[path[0][0]]
        for _, r, t in path:
            mark = "<" if r >= kg.num_relations else ""
            text += f"-{mark}{kg.relations[r % kg.num_relations]}-{kg.entities[t]}"
        found.append(text)
    return found


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        # Another relation connects them at once; the fact itself does not.
        (["a r z", "a s z", "z s a"], ["a-s-z", "a-<s-z"]),
        # Two edges, of either direction; of two entities on the way the one of fewer triples.
        (
            ["a s m", "m s z", "z s n", "a s n", "m s q", "n s o", "n s p"],
            ["a-s-m-s-z", "a-s-n-<s-z"],
        ),
        # Each edge between the same two is a path, by the relations' ids.
        (["a s m", "a r m", "m s z"], ["a-s-m-s-z", "a-r-m-s-z"]),
    ],
)
def test_the_shortest_paths_without_the_fact(rows, expected):
    kg = graph(*rows, "other r other")
    assert paths(kg, "a r z") == expected
    assert paths(kg, "a r z", most=1) == expected[:1]


def test_an_entity_is_not_connected_with_itself():
    assert paths(graph("a r b", "b r a"), "a r a") == []


@pytest.mark.parametrize(("head", "tail"), [("a", "z"), ("z", "a")])
@pytest.mark.parametrize("others", [0, 60])
def test_entities_that_lead_nowhere_are_not_walked(monkeypatch, head, tail, others):
    """Read are both ends, the neighbours of the one with fewer edges, and the path's entities."""
    rows = [f"a s x{i}" for i in range(50)] + [f"x{i} s y{i}" for i in range(50)]
    kg = graph(*rows, *(f"z s w{i}" for i in range(others)), "a r m", "m s n", "n s z")
    asked, original = [], TripleIndex.triples_of

    def triples_of(index, heads):
        asked.append(heads)
        return original(index, heads)

    monkeypatch.setattr(TripleIndex, "triples_of", triples_of)
    assert len(paths(kg, f"{head} r {tail}")[0].split("-")) == 7
    assert len(asked) == 2 + 1 + 3
    assert len(asked[2]) == 1 + others


def test_they_are_all_that_a_plain_search_finds():
    kg = random_graph(30, 2, 45)
    edges = kg.edges.tolist()
    lengths = set()
    for head, relation, tail in edges[:45] + [[h, 1, t] for h in range(6) for t in range(6, 30)]:
        if head == tail:
            continue
        away = [[head, relation, tail], [tail, (relation + 2) % 4, head]]
        usable = [edge for edge in edges if edge not in away]
        walks = [[edge] for edge in usable if edge[0] == head]
        for length in (1, 2, 3):
            expected = [walk for walk in walks if walk[-1][2] == tail]
            if expected or length == 3:
                break
            walks = [[*w, e] for w in walks for e in usable if e[0] == w[-1][2]]
        found = shortest_paths(kg, head, relation, tail, most=10**9)
        assert sorted(found) == sorted([tuple(edge) for edge in walk] for walk in expected)
        lengths.add(len(found[0]) if found else 0)
    assert lengths == {0, 1, 2, 3}
