"""Peak memory and time of filtered ranking on a graph of any size, with random vectors.

    python bench/ranking_memory.py --entities 1000000 --dim 32

Prints one line of JSON. Time is also given for the bare matrix products, which are the floor.
"""

from __future__ import annotations

import argparse
import json
import resource
import time

import torch

from dglkgmix.evaluation.queries import evaluation_queries
from dglkgmix.evaluation.ranking import BLOCK, rank
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.kg.vocabulary import Vocabulary


class Products:
    """DistMult with random vectors, which keeps the time of its matrix products."""

    def __init__(self, entities: torch.Tensor, relations: torch.Tensor) -> None:
        self.entities, self.relations = entities, relations
        self.num_entities = len(entities)
        self.seconds = 0.0

    def query(self, heads: torch.Tensor, relations: torch.Tensor) -> torch.Tensor:
        return self.entities[heads] * self.relations[relations]

    def scores(self, query: torch.Tensor, start: int, stop: int) -> torch.Tensor:
        began = time.perf_counter()
        scores = query @ self.entities[start:stop].T
        self.seconds += time.perf_counter() - began
        return scores

    def gather(self, query: torch.Tensor, candidates: torch.Tensor) -> torch.Tensor:
        return (query[:, None] * self.entities[candidates]).sum(2)


def graph(entities: int, relations: int, triples: int, tests: int) -> KnowledgeGraph:
    """Random triples, tails crowded towards low ids as in real graphs."""
    generator = torch.Generator().manual_seed(0)
    share = torch.rand(triples + tests, 3, generator=generator, dtype=torch.float64)
    share[:, 2] **= 3
    rows = (share * torch.tensor([entities, relations, entities])).long()
    names = Vocabulary([str(i) for i in range(entities)], "entity")
    return KnowledgeGraph.from_arrays(
        rows[:triples], None, rows[triples:], entities=names, relations=relations
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entities", type=int, default=14_541)
    parser.add_argument("--relations", type=int, default=100)
    parser.add_argument("--triples", type=int, default=300_000)
    parser.add_argument("--tests", type=int, default=500, help="test triples, two queries each")
    parser.add_argument("--dim", type=int, default=200)
    parser.add_argument("--block", type=int, default=BLOCK)
    args = parser.parse_args()
    kg = graph(args.entities, args.relations, args.triples, args.tests)
    queries, known = evaluation_queries(kg, "test"), kg.known_index
    scorer = Products(
        torch.randn(args.entities, args.dim), torch.randn(kg.num_query_relations, args.dim)
    )
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.perf_counter()
    found = rank(scorer, queries, known, block=args.block)
    seconds = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        json.dumps(
            {
                "entities": args.entities,
                "dim": args.dim,
                "queries": len(queries),
                "block": args.block,
                "seconds": round(seconds, 3),
                "product_seconds": round(scorer.seconds, 3),
                "mrr": float((1 / found.rank).mean()),
                "peak_gib": round(peak / 2**20, 3),
                "peak_before_ranking_gib": round(before / 2**20, 3),
            }
        )
    )


if __name__ == "__main__":
    main()
