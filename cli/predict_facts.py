"""``dglkgmix predict`` of facts: of one that is given, and the best new ones of relations."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from dglkgmix.cli.columns import aligned, counted, number
from dglkgmix.cli.common import emit_json, one_line, printable, warn

if TYPE_CHECKING:
    from dglkgmix.prediction.answers import Predictor
    from dglkgmix.prediction.facts import Fact, Side, Triple


def given_facts(
    predictor: Predictor, facts: dict[int, Triple], *, out: Path | None, as_json: bool
) -> None:
    """Judge given facts by their number; one alone may be shown, many are written to ``out``."""
    from dglkgmix.prediction.facts import COLUMNS, fact_row
    from dglkgmix.prediction.files import write_rows

    found = predictor.predict_triples(list(fact.given.values()) for fact in facts.values())
    for text in dict.fromkeys(text for fact in found for text in fact.warnings):
        warn(text)
    if out is not None:
        numbered = zip(facts, found, strict=True)
        rows = ({"query": number, **fact_row(fact)} for number, fact in numbered)
        write_rows(out, rows, COLUMNS, (fact.to_dict() for fact in found))
        click.echo(f"{counted(len(found), 'given fact')}: {printable(str(out))}", err=True)
    elif as_json:
        emit_json(found[0].to_dict())
    else:
        click.echo(_fact_page(found[0]))


def relation_facts(
    predictor: Predictor,
    relation: str | None,
    top: int,
    *,
    by_bin: bool,
    out: Path | None,
    as_json: bool,
) -> None:
    """The best new facts of a relation, or of every one, which are written one after the other."""
    from dglkgmix.prediction.facts import NEW_COLUMNS
    from dglkgmix.prediction.files import write_rows

    names = predictor.kg.relations
    wanted = range(len(names)) if relation is None else [names.id(relation)]
    count = 0

    def rows() -> Iterator[dict[str, Any]]:
        nonlocal count
        for each in wanted:
            for row in predictor.new_facts(each, top, by_bin=by_bin):
                count += 1
                yield row

    if out is not None:
        write_rows(out, rows(), NEW_COLUMNS)
        made = f"{counted(count, 'new fact')} of {counted(len(wanted), 'relation')}"
        click.echo(f"{made}: {printable(str(out))}", err=True)
    elif as_json:
        emit_json(list(rows()))
    else:
        click.echo(_relation_page(names[wanted[0]], list(rows())))


def _fact_page(fact: Fact) -> str:
    from dglkgmix.kg.degrees import readable

    def cells(side: Side) -> list[str]:
        figures = [f"{side.score:.4f}", f"{side.rank:,.4g}", f"{side.candidates:,}"]
        chance = number(side.probability)
        return [*figures, chance, f"{side.degree:,}", readable(side.bin)]

    head, relation, tail = (one_line(name) for name in (fact.head, fact.relation, fact.tail))
    held = " and ".join(fact.splits) or "no split"
    rows = [
        ["query", "score", "rank", "of", "probability", "degree", "bin"],
        [f"{head} · {relation} · ?", *cells(fact.directions["tail"])],
        [f"? · {relation} · {tail}", *cells(fact.directions["head"])],
    ]
    table = aligned(rows, right=(1, 2, 3, 4, 5))
    return f"{head} · {relation} · {tail}\n\n  held by {held}\n\n{table}"


def _relation_page(relation: str, facts: list[dict[str, Any]]) -> str:
    from dglkgmix.kg.degrees import readable

    title = f"? · {one_line(relation)} · ?"
    if not facts:
        return f"{title}\n\n  no new facts"
    rows = [["", "head", "tail", "plausibility", "probability of tail", "of head", "degree", "bin"]]
    for fact in facts:
        if fact["place"] == 1 and len(rows) > 1:
            rows.append([""] * len(rows[0]))  # The next bin.
        shown = [number(fact[f"{end}_probability"]) for end in ("tail", "head")]
        names = [str(fact["place"]), one_line(fact["head"]), one_line(fact["tail"])]
        degree = [f"{fact['tail_degree']:,}", readable(fact["tail_bin"])]
        rows.append([*names, f"{fact['plausibility']:.4f}", *shown, *degree])
    return f"{title}\n\n{aligned(rows, right=(0, 3, 4, 5, 6))}"
