"""The guide's program: parts of the pipeline in training loops that are not the library's."""

import re

import pytest
import torch

from tests.conftest import ROOT

GUIDE = ROOT / "docs" / "guides" / "dgl-pipeline.md"


@pytest.fixture(scope="module")
def program():
    """The names that the guide's blocks define, run top to bottom."""
    names = {"__name__": "guide"}
    blocks = re.findall(
        r"^```python\n(.*?)^```", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    for number, block in enumerate(blocks, 1):
        exec(compile(block, f"{GUIDE.name}, block {number}", "exec"), names)
        if "ranks" in names:
            names.setdefault("first_ranks", names["ranks"])
    return names


pytestmark = pytest.mark.filterwarnings("ignore:Dataloader CPU affinity")


def test_three_node_types_and_their_masks(program):
    graph, kg = program["graph"], program["kg"]
    assert set(graph.ntypes) == {"drug", "gene", "disease"}
    assert len(program["TYPES"]) == 5
    assert len(kg.train) + len(kg.valid) + len(kg.test) == sum(program["TYPES"].values())


@pytest.mark.parametrize("ranks", ["first_ranks", "ranks"])
def test_both_loops_learn(program, ranks):
    mrr = (1 / program[ranks].rank).mean().item()
    assert mrr > 2.5 * program["chance"]


def test_rivals_are_of_the_tails_type(program):
    """By another path: count, for each query, the nodes of the type less the known answers."""
    kg, questions = program["kg"], program["questions"]
    for query in range(0, len(questions), 40):
        head, relation, answer = (
            int(column[query])
            for column in (questions.heads, questions.relations, questions.answers)
        )
        known = kg.known_index.tails_of(torch.tensor([head]), torch.tensor([relation]))[1].tolist()
        alike = (kg.node_types == kg.node_types[answer]).nonzero().flatten().tolist()
        expected = len(set(alike) - set(known)) + 1
        assert int(program["first_ranks"].candidates[query]) == expected
