"""Filtered ranks of FB15k-237's test set, beside PyKEEN's evaluator and a textbook's argsort.

    python -m bench.evaluation

All rank with the same DistMult weights and must find the same MRR; ConvE is timed as well, by
dglkgmix alone. The slower sides rank a stated part of the test triples.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import torch

from bench import textbook
from bench.report import leave, parser
from bench.steps import begin, graph, settings
from bench.turns import Work, interleaved, sides

HOW = (
    "seconds of all test queries, both directions = median seconds of a triple x test triples; "
    "dglkgmix ranks them all, the others a part (units); sides take turns in processes of their own"
)
COLUMNS = ("case", "graph", "queries", "seconds", "units", "mrr", "times_ours")


def weights(name: str) -> tuple[torch.Tensor, torch.Tensor]:
    """DistMult's tables for a graph, (E, 200) and (R, 200): random, as time does not ask."""
    generator = torch.Generator().manual_seed(0)
    kg = graph(name)
    return tuple(  # type: ignore[return-value]
        torch.randn(rows, 200, generator=generator) for rows in (kg.num_entities, kg.num_relations)
    )


def chosen(name: str, count: int) -> torch.Tensor:
    """The first ``count`` of the shuffled test triples, as (count, 3)."""
    test = graph(name).test
    return test[torch.randperm(len(test), generator=torch.Generator().manual_seed(0))[:count]]


def ours(case: tuple[str, str]) -> Work:
    """dglkgmix's ranking, a part of the triples made a graph's test split."""
    from dglkgmix.evaluation.model_scorer import ModelScorer
    from dglkgmix.evaluation.queries import evaluation_queries, queries_of
    from dglkgmix.evaluation.ranking import rank

    decoder, name = case
    kg = graph(name)
    model = begin(kg, settings(decoder)).work.model
    if decoder == "distmult":
        entities, relations = weights(name)
        with torch.no_grad():
            model.encoder.entity_table.copy_(entities)
            model.encoder.relation_table.copy_(relations.repeat(2, 1))
    queries, known = evaluation_queries(kg, "test"), kg.known_index

    def work(count: int) -> dict[str, Any]:
        part = queries if count >= len(kg.test) else queries_of(kg, chosen(name, count))
        ranks = rank(ModelScorer(model), part, known)
        return {"mrr": float(ranks.rank.reciprocal().mean())}

    return work


def pykeen(case: tuple[str, str]) -> Work:
    """PyKEEN's evaluator with its own DistMult of the same weights."""
    import logging

    logging.disable(logging.WARNING)
    from pykeen.evaluation import RankBasedEvaluator
    from pykeen.models import DistMult
    from pykeen.triples import TriplesFactory

    _, name = case
    kg = graph(name)
    factory = TriplesFactory(
        kg.train,
        {entity: i for i, entity in enumerate(kg.entities)},
        {relation: i for i, relation in enumerate(kg.relations)},
    )
    model = DistMult(triples_factory=factory, embedding_dim=200, random_seed=0)
    entities, relations = weights(name)
    with torch.no_grad():
        model.entity_representations[0]._embeddings.weight.copy_(entities)
        model.relation_representations[0]._embeddings.weight.copy_(relations)
    evaluator = RankBasedEvaluator(filtered=True)
    known = [kg.train, kg.valid, kg.test]

    def work(count: int) -> dict[str, Any]:
        result = evaluator.evaluate(
            model, chosen(name, count), additional_filter_triples=known, batch_size=128,
            use_tqdm=False,
        )  # fmt: skip
        return {"mrr": float(result.get_metric("both.realistic.inverse_harmonic_mean_rank"))}

    return work


def plain(case: tuple[str, str]) -> Work:
    """The textbook's argsort."""
    _, name = case
    kg = graph(name)
    model = textbook.DistMult(kg.num_entities, kg.num_query_relations)
    entities, relations = weights(name)
    with torch.no_grad():
        model.entity.weight.copy_(entities)
        model.relation.weight.copy_(relations.repeat(2, 1))
    known: dict[tuple[int, int], list[int]] = defaultdict(list)
    for split in (kg.train, kg.valid, kg.test):
        for head, relation, tail in split.tolist():
            known[head, relation].append(tail)
            known[tail, relation + kg.num_relations].append(head)
    index = {pair: torch.tensor(tails) for pair, tails in known.items()}

    def work(count: int) -> dict[str, Any]:
        triples = chosen(name, count)
        back = torch.stack([triples[:, 2], triples[:, 1] + kg.num_relations, triples[:, 0]], 1)
        ranks = textbook.filtered_ranks(model, torch.cat([triples, back]), index)
        return {"mrr": float((1 / ranks).mean())}

    return work


def main() -> None:
    options = parser(__doc__).parse_args()
    name, some, repeats = ("world", 50, 2) if options.tiny else ("fb15k-237", 500, 3)
    case, conve = ("distmult", name), ("conve", name)
    count = len(graph(name).test)
    with sides(ours, pykeen, plain) as (mine, theirs, other):
        (part,) = interleaved([(mine, case, some)], 1, some)
        players = [(mine, case, count), (theirs, case, some), (other, case, some)]
        timings = interleaved(players, repeats, some)
        timings += interleaved([(mine, conve, count)], repeats, some)
    names = ("DistMult, dglkgmix", "DistMult, PyKEEN", "DistMult, textbook", "ConvE, dglkgmix")
    rows = []
    for label, timing in zip(names, timings, strict=True):
        seconds = timing.median * count
        row = {"case": label, "graph": name, "queries": 2 * count, "seconds": seconds}
        row |= {"times_ours": timing.median / timings[0].median} if "Dist" in label else {}
        rows.append(row | timing.report() | {"mrr_of_ours": part.notes["mrr"]})
    for row in rows[1:3]:  # the same model must rank alike, up to ties' rounding
        assert abs(row["mrr"] - part.notes["mrr"]) < 1e-4, (row["mrr"], part.notes["mrr"])
    leave("evaluation", options.out, HOW, rows, COLUMNS)


if __name__ == "__main__":
    main()
