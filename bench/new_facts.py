"""The best new facts of a relation: memory on a large graph, and which order finds true ones.

    python -m bench.new_facts [RUN...]

Without RUN: a generated graph of a million entities and three million facts, DistMult with random
vectors of 32 numbers; the 100 best new facts of one of its 20,000 relations. With RUNs: of each
relation's 100 best facts outside of train and valid, means over relations with five test facts or
more of the share that the test split holds ("found": of what could be), of the share among the
first ten, and of average precision. "probability", the
mean of both queries' probabilities, is the order of ``predict --relation``; "shares" that of the
product of both softmax shares among new answers, "scores" the mean score, "tail score" that
of (head, relation, ?) alone. Facts count where training has seen an end in that place ("seen"),
or always ("all"). It holds the scores of all pairs: for small graphs.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from bench.generated import generated
from bench.turns import peak_gib
from dglkgmix.config import Config
from dglkgmix.config.toml import apply_overrides
from dglkgmix.evaluation.model_scorer import ModelScorer
from dglkgmix.models.link_predictor import LinkPredictor
from dglkgmix.prediction.relations import new_facts
from dglkgmix.runs.run import Run
from dglkgmix.training.launch import settled

TOP = 100


def memory() -> None:
    """Print seconds and peak memory."""
    kg = generated(1_000_000, 20_000, 3_000_000)
    torch.manual_seed(0)
    config = apply_overrides(Config(), ["model.decoder=distmult", "model.entity_dim=32"])
    model = LinkPredictor.build(settled(kg, config).model, kg)
    for vectors in model.parameters():
        torch.nn.init.normal_(vectors)
    scorer = ModelScorer(model)
    began, asked = time.perf_counter(), [0]
    inner = scorer.query

    def query(heads: Tensor, relations: Tensor) -> Tensor:
        asked[0] += len(heads)
        return inner(heads, relations)

    scorer.query = query  # type: ignore[method-assign]
    relation = int(kg.train[:, 1].mode().values)
    found = new_facts(kg, scorer, relation, TOP)
    facts = int((kg.train[:, 1] == relation).sum())
    print(
        f"{kg}: relation with {facts:,} training facts, {len(found.triples)} new facts, "
        f"{asked[0]:,} queries, {time.perf_counter() - began:.0f} s, peak {peak_gib():.2f} GiB"
    )


def quality(run: Run) -> None:
    """Print the rows of the table."""
    kg, scorer, listed = run.kg, ModelScorer(run.model), run.list_probability()
    entities = torch.arange(kg.num_entities)
    found: dict[tuple[str, str], list[list[float]]] = {}
    for relation in range(kg.num_relations):
        test = kg.test[kg.test[:, 1] == relation]
        if len(test) < 5:
            continue
        sides = [torch.full_like(entities, relation + i * kg.num_relations) for i in (0, 1)]
        scores = [scorer.scores(scorer.query(entities, r), 0, len(entities)) for r in sides]
        train = kg.train[kg.train[:, 1] == relation]
        known, true, seen = torch.zeros(3, len(entities), len(entities), dtype=torch.bool)
        known[tuple(train[:, [0, 2]].T)] = True
        known[tuple(kg.valid[kg.valid[:, 1] == relation][:, [0, 2]].T)] = True
        true[tuple(test[:, [0, 2]].T)] = True
        seen[train[:, 0]], seen[:, train[:, 2]] = True, True
        tails, heads = scores[0], scores[1].T
        new = [part.masked_fill(known, -torch.inf) for part in (tails, heads)]
        orders = {"shares": new[0].log_softmax(1) + new[1].log_softmax(0)}
        orders |= {"scores": tails + heads, "tail score": tails}
        if listed is not None:
            given, among = zip(sides, scores, strict=True), {"candidates": run.candidates}
            lists = [listed.of_entities(kg, entities, r, part, **among) for r, part in given]
            chances = [torch.from_numpy(part).nan_to_num(0) for part in lists]
            orders["probability"] = chances[0] + chances[1].T
        for name, order in orders.items():
            for which, left in (("seen", seen & ~known), ("all", ~known)):
                best = order.masked_fill(~left, -torch.inf).flatten().topk(TOP).indices
                row = figures(true.flatten()[best], len(test))
                found.setdefault((name, which), []).append(row)
    for key, rows in found.items():
        means: Any = torch.tensor(rows).mean(0).tolist()
        cells = " | ".join([run.name, *key, *(f"{value:.3f}" for value in means)])
        print(f"| {cells} |", flush=True)


def figures(true: Tensor, facts: int) -> list[float]:
    """Found of what could be, share of the first ten, average precision."""
    precision = true.cumsum(0) / torch.arange(1, TOP + 1)
    could = min(TOP, facts)
    return [
        float(v)
        for v in (true.sum() / could, true[:10].double().mean(), precision[true].sum() / could)
    ]


def main() -> None:
    """Memory, or the table of some runs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("runs", nargs="*", type=Path)
    runs = parser.parse_args().runs
    if not runs:
        memory()
        return
    print("| run | order | facts | found | true of first 10 | average precision |")
    print("|---|---|---|---|---|---|")
    for path in runs:
        quality(Run.open(path))


if __name__ == "__main__":
    main()
