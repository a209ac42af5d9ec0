"""Do the probabilities of ranked answers hold, and those against a random candidate?

    python -m bench.shortlist RUN... [--candidates RULE...]

Of the first ten answers of each test query: the error over 15 bands of equal width and the Brier
score, with Platt scaling against random false triples ("random") and with the probability of a
ranked answer ("list"), fitted on validation queries alike. "floor" is the mean error that the same
number of answers would show if each were true with exactly its listed probability; "AP" the mean
average precision within a query, of the ranking and of the order by listed probability.

Then over the queries of all splits, most of which have no fact in test: what the probabilities of
the first ten add up to, without and with the share of queries with a known answer that have another
where most heads have one tail; times that share everywhere; and the test facts among them.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from dglkgmix.evaluation.candidates import RULES
from dglkgmix.evaluation.list_account import SHOWN, ListedAnswers
from dglkgmix.evaluation.list_probability import ListProbability, fit_on_validation
from dglkgmix.evaluation.metrics import by_bin, overall
from dglkgmix.evaluation.model_scorer import ModelScorer
from dglkgmix.evaluation.shortlist import read_shortlists
from dglkgmix.kg.degrees import DegreeBins
from dglkgmix.runs.run import Run

DRAWS = 200


def main() -> None:
    """Print the rows of the table, one a run and bin."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--candidates", nargs="*", default=[None], choices=RULES)
    options = parser.parse_args()
    print("| run | candidates | MRR | zero | low | missed | mean candidates |")
    print("|---|---|---|---|---|---|---|")
    for path, rule in product(options.runs, options.candidates):
        _report(Run.open(path).among(rule))


def _report(run: Run) -> None:
    scorer, platt = ModelScorer(run.model), run.calibration()
    fitted = fit_on_validation(scorer, run.kg, run.candidates)
    if platt is None or fitted is None:
        raise SystemExit(f"{run.path}: too few validation triples")
    table = run.rank_table("test")
    bins = by_bin(table, DegreeBins())
    figures = [overall(table)["mrr"], bins["zero"]["mrr"], bins["low"]["mrr"]]
    cells = [*(f"{value:.4f}" for value in figures), f"{table['missed'].mean():.1%}"]
    print(
        f"| {run.name} | {table.rule} | {' | '.join(cells)} | {table['candidates'].mean():,.0f} |"
    )
    print("\n| run | bin | answers | true | ECE random | list | floor | Brier/base random | list |")
    print("|---|---|---|---|---|---|---|---|---|")
    lists, true = read_shortlists(scorer, run.kg, "test", run.candidates)
    probability, chance = fitted.of(lists), platt.probability(lists.scores)
    after = ListedAnswers.of(lists, true, probability)
    before = ListedAnswers.of(lists, true, chance)
    groups = DegreeBins().assign(after.degree).numpy()
    chosen = {"all": groups >= 0} | {n: groups == i for i, n in enumerate(DegreeBins().names)}
    for name, rows in chosen.items():
        old, new = before.figures(rows), after.figures(rows)
        if new["answers"]:
            shares = [f["brier"] / f["brier_base"] for f in (old, new)]
            print(
                f"| {run.name} | {name} | {new['answers']:,} | {new['precision@10']:.3f} "
                f"| {old['ece']:.3f} | {new['ece']:.3f} | {_floor(after, rows):.3f} "
                f"| {shares[0]:.2f} | {shares[1]:.2f} |"
            )
    order = _average_precision(lists.scores, true), _average_precision(probability, true)
    print(f"\nAP {order[0]:.4f} by rank, {order[1]:.4f} by probability\n")
    _whole_graph(run, scorer, fitted)


def _whole_graph(run: Run, scorer: ModelScorer, fitted: ListProbability) -> None:
    kg = run.kg
    lists, true = read_shortlists(scorer, kg, "test", run.candidates, asked=kg.known_index)
    shown, known = lists.filled & (np.arange(true.shape[1]) < SHOWN), lists.known > 0
    before, after = (
        np.where(shown, np.nan_to_num(fit.of(lists)), 0).sum(1)
        for fit in (replace(fitted, one_tail=()), fitted)
    )
    another = [fitted.another(relation) for relation in lists.relations.tolist()]
    share = np.where(known, [1.0 if value is None else value for value in another], 1)
    one = np.isin(lists.relations, fitted.one_tail)
    groups = {"one tail, known": one & known, "other, known": ~one & known, "none known": ~known}
    print("| run | queries | number | without shares | probability | times another | in test |")
    print("|---|---|---|---|---|---|---|")
    for name, rows in groups.items():
        sums = [rows.sum(), *(x[rows].sum() for x in (before, after, after * share))]
        cells = [f"{cell:,.0f}" for cell in (*sums, (true & shown)[rows].sum())]
        print(f"| {run.name} | {name} | {' | '.join(cells)} |")
    print()


def _floor(answers: ListedAnswers, rows: Any) -> float:
    draw = np.random.default_rng(0)
    found = [
        replace(answers, true=draw.random(len(rows)) < answers.probability).figures(rows)["ece"]
        for _ in range(DRAWS)
    ]
    return float(np.mean(found))


def _average_precision(order: Any, true: Any) -> float:
    places = np.argsort(-np.nan_to_num(order, nan=-np.inf), axis=1, kind="stable")
    ordered = np.take_along_axis(true, places, 1)[true.any(1)]
    precision = ordered.cumsum(1) / np.arange(1, ordered.shape[1] + 1)
    return float(((precision * ordered).sum(1) / ordered.sum(1)).mean())


if __name__ == "__main__":
    main()
