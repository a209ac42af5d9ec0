"""``dglkgmix predict``: names in, answers out."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from dglkgmix.cli import common
from dglkgmix.cli.columns import aligned, counted, number
from dglkgmix.cli.outputs import IN, IN_FILE, OUT_FILE, check_new, overwrite_option
from dglkgmix.cli.predict_facts import given_facts, relation_facts
from dglkgmix.errors import ConfigError, DataError, UnknownNameError

if TYPE_CHECKING:
    from dglkgmix.kg.options import ReadOptions
    from dglkgmix.prediction.answers import Answer, Prediction, Predictor, Query
    from dglkgmix.prediction.facts import Triple
    from dglkgmix.prediction.why import Why

Asked = TypeVar("Asked", "Query", "Triple")
# Answers that --why explains in a terminal.
EXPLAINED = 3


@click.command(
    epilog="Example: dglkgmix predict runs/mixup --head Kenya --relation borders --new-only"
)
@click.argument("run", type=IN)
@click.option("--head", metavar="NAME", help="The triple's head.")
@click.option("--relation", metavar="NAME", help="The triple's relation.")
@click.option("--tail", metavar="NAME", help="The triple's tail.")
@click.option(
    "--all", "every", is_flag=True, help="The best new facts of every relation. Needs --out."
)
@click.option(
    "--top",
    type=click.IntRange(min=1),
    help="Number of answers, 10 by default; of new facts of a relation, 100 by default.",
)
@click.option(
    "--by-bin", is_flag=True, help="The best new facts in each degree bin of their tails."
)
@click.option("--new-only", is_flag=True, help="Leave out triples that the data hold already.")
@click.option(
    "--sort",
    type=click.Choice(["score", "probability"]),
    help="Order of answers, score by default. Probabilities also use degrees and known answers; "
    "answers without one come last.",
)
@click.option(
    "--why",
    is_flag=True,
    help="Show training facts, paths and neighbours of the first 3 answers; in --json and .jsonl "
    "of all.",
)
@click.option(
    "--queries",
    type=IN_FILE,
    metavar="FILE",
    help="Many queries: .csv, .tsv or .txt with the columns head, relation and tail, the one that "
    "is asked for left empty; or given facts, without an empty one. Needs --out.",
)
@click.option(
    "--skip-unknown", is_flag=True, help="Leave out queries with names that RUN does not know."
)
@click.option(
    "--out",
    type=OUT_FILE,
    metavar="FILE",
    help="Write answers to .csv, .tsv or .parquet, a row each, or to .jsonl, an object a query as "
    "--json prints it. In .csv a name that a spreadsheet would take for a formula gets a leading "
    "apostrophe.",
)
@overwrite_option("an existing file of answers")
@common.bins_option
@common.candidate_options
@common.json_option
@common.trust_option
def predict(run: Path, **options: Any) -> None:
    """Complete a triple: give two of --head, --relation and --tail, get the third.

    With all three, the given fact is judged: score, filtered rank, probability and degree as the
    answer to both of its queries. With --relation alone, or --all, the best facts of whole
    relations that the data do not hold, by the mean probability in both queries of a fact; at least
    one end of it must be known to training in that place of the relation.

    Each answer comes with the model's score; the probability that it is true, if the query lacks
    an answer: a lower bound, fitted on validation queries, where facts that nobody recorded count
    as wrong, and only for the first 20 answers that train and valid do not hold; and its degree:
    how many training triples lead to it by the relation. Where train and valid hold an answer to
    the query, a line says how often such a query lacks another one.
    """
    from dglkgmix.kg.degrees import DegreeBins
    from dglkgmix.prediction.answers import Query
    from dglkgmix.prediction.facts import Triple
    from dglkgmix.prediction.files import ENDINGS

    out, queries, as_json = options["out"], options["queries"], options["as_json"]
    if as_json and out is not None:
        raise ConfigError("--json prints answers and --out writes them to a file: choose one")
    if queries is None or not _same(out, queries):
        check_new(out, "--out", overwrite=options["overwrite"], endings=ENDINGS)
    options["bins"] = DegreeBins.parse(options["bins"])
    roles = ("head", "relation", "tail")
    given = {role: options[role] for role in roles if options[role] is not None}
    whole = options["every"] or list(given) == ["relation"]
    _check(options, given, whole=whole)
    if queries is not None:
        _many(run, options)
        return
    query = None if whole else _asked(given, options)
    if not isinstance(query, Query) and options["why"]:
        raise ConfigError("--why has no use without a query: it explains answers")
    predictor, reading = _predictor(run, options)
    if query is None:
        name = None if options["relation"] is None else reading.name(options["relation"])
        top, by_bin = options["top"] or 100, options["by_bin"]
        relation_facts(predictor, name, top, by_bin=by_bin, out=out, as_json=as_json)
    elif isinstance(query, Triple):
        given_facts(predictor, {1: _as_read(query, reading)}, out=out, as_json=as_json)
    else:
        (found,) = _answers(predictor, [_as_read(query, reading)], options)
        if out is not None:
            _write(out, [found], [1])
        elif as_json:
            common.emit_json(found.to_dict())
        else:
            click.echo(_page(found))


def _check(options: dict[str, Any], given: dict[str, str], *, whole: bool) -> None:
    if options["queries"] is None and options["skip_unknown"]:
        raise ConfigError("--skip-unknown has no use without --queries")
    if options["queries"] is not None and (given or options["every"]):
        raise ConfigError("--queries FILE takes the place of --head, --relation, --tail and --all")
    if options["every"] and given:
        raise ConfigError("--all takes no --head, --relation or --tail")
    if options["every"] and options["out"] is None:
        raise ConfigError("--all needs --out FILE")
    if options["by_bin"] and not whole:
        raise ConfigError("--by-bin has no use without --relation alone, or --all")
    if options["new_only"] and whole:
        raise ConfigError("--new-only has no use with whole relations, whose facts are all new")
    if options["sort"] and whole:
        raise ConfigError("--sort has no use with whole relations, whose facts have one order")


def _asked(given: dict[str, str], options: dict[str, Any]) -> Query | Triple:
    """The query of two names or the fact of three, if it goes with the other options."""
    from dglkgmix.prediction.answers import Query
    from dglkgmix.prediction.facts import Triple

    if len(given) == 3:
        _check_fact(options)
        return Triple(**given)
    query = Query(**given)
    for option in ("candidates", "types", "sort"):
        if query.asked == "relation" and options[option]:
            what = "where the relation is asked for: entities only"
            raise ConfigError(f"--{option} has no use {what}")
    return query


def _check_fact(options: dict[str, Any]) -> None:
    for option in ("top", "new_only", "sort"):
        if options[option]:
            name = option.replace("_", "-")
            raise ConfigError(f"--{name} has no use with given facts, which ask for no answers")


def _same(out: Path | None, queries: Path) -> bool:
    return out is not None and out.resolve() == queries.resolve()


def _answers(
    predictor: Predictor, queries: Iterable[Query], options: dict[str, Any]
) -> list[Prediction]:
    """The answers to each query; each warning is shown once."""
    wanted = {name: options[name] for name in ("top", "new_only", "sort") if options[name]}
    found = [predictor.predict(query, **wanted) for query in queries]
    for text in dict.fromkeys(text for prediction in found for text in prediction.warnings):
        common.warn(text)
    return found


def _many(run: Path, options: dict[str, Any]) -> None:
    from dglkgmix.prediction.facts import Triple
    from dglkgmix.prediction.files import read_queries, unknown_names

    out, queries = options["out"], options["queries"]
    if out is None:
        raise ConfigError("--queries needs --out FILE: where the answers go")
    if _same(out, queries):
        raise ConfigError(f"--out {out} would replace the queries")
    asked: list[tuple[str, Any]] = [*read_queries(queries)]
    facts = [where for where, row in asked if isinstance(row, Triple)]
    if facts and len(facts) < len(asked):
        raise DataError(
            f"{queries}: {len(facts):,} of {len(asked):,} rows give head, relation and tail, "
            f"such as {facts[0]}; the others ask for one: put given facts into a file of their own"
        )
    if facts:
        _check_fact(options)
        if options["why"]:
            raise ConfigError("--why has no use with given facts: it explains answers")
    predictor, reading = _predictor(run, options)
    asked = [(where, _as_read(query, reading)) for where, query in asked]
    unknown = unknown_names(predictor.kg, asked)
    lacking = {where for places in unknown.values() for where in places}
    if unknown:
        share, skip = f"{len(lacking):,} of {len(asked):,}", options["skip_unknown"]
        _tell_unknown(queries, unknown, share, skip=skip)
    kept = {number: query for number, (where, query) in enumerate(asked, 1) if where not in lacking}
    if facts:
        given_facts(predictor, kept, out=out, as_json=False)
    else:
        _write(out, _answers(predictor, kept.values(), options), list(kept))


def _as_read(query: Asked, reading: ReadOptions) -> Asked:
    """The query or fact with its names as the run's triples were read, stripped for one."""
    return type(query)(**{role: reading.name(name) for role, name in query.given.items()})


def _tell_unknown(path: Path, unknown: dict[str, list[str]], share: str, *, skip: bool) -> None:
    from dglkgmix.prediction.files import MOST_SHOWN

    lines = []
    for what, places in list(unknown.items())[:MOST_SHOWN]:
        more = f" and {len(places) - 1:,} more" if len(places) > 1 else ""
        lines.append(f"{places[0]}{more}: {what}")
    if len(unknown) > MOST_SHOWN:
        lines.append(f"and {len(unknown) - MOST_SHOWN:,} names more")
    if not skip:
        title = f"{path}: {share} queries hold unknown names; --skip-unknown leaves them out"
        raise UnknownNameError("\n  ".join([title, *lines]))
    title = f"{path}: {share} queries hold unknown names and are left out"
    common.warn("\n  ".join([title, *lines]))


def _predictor(path: Path, options: dict[str, Any]) -> tuple[Predictor, ReadOptions]:
    """What answers, and how the run's names were read."""
    from dglkgmix.evaluation.list_probability import FEWEST
    from dglkgmix.kg.options import ReadOptions
    from dglkgmix.prediction.answers import Predictor

    out, why = options["out"], options["why"]
    if why and out is not None and out.suffix.lower() != ".jsonl":
        raise ConfigError(f"--why has no use with {out.suffix} files: write .jsonl")
    run = common.open_run(path, options["candidates"], options["types"])
    predictor = Predictor.of(run, options["bins"], explain=why)
    if predictor.listed is None:
        common.warn(
            f"no probabilities: fitting them takes {FEWEST} validation facts among the first "
            "answers of their queries"
        )
    return predictor, ReadOptions(**run.config.data.reading)


def _write(out: Path, predictions: list[Prediction], numbers: list[int]) -> None:
    from dglkgmix.prediction.files import write_answers

    write_answers(out, predictions, numbers)
    answers = sum(len(prediction.answers) for prediction in predictions)
    click.echo(
        f"{counted(answers, 'answer')} to {counted(len(predictions), 'query')}: "
        f"{common.printable(str(out))}",
        err=True,
    )


def _page(prediction: Prediction) -> str:
    from dglkgmix.kg.degrees import readable

    query = prediction.query
    parts = [query.given.get(role, "?") for role in ("head", "relation", "tail")]
    title = " · ".join(common.one_line(part) for part in parts)
    if not prediction.answers:
        return f"{title}\n\n  no answers left"
    entities = query.asked != "relation"  # Relations have no probability.
    rows = [["", query.asked, "score", *["probability"] * entities, "degree", "bin", ""]]
    for place, answer in enumerate(prediction.answers, start=1):
        remarks = ["known"] * answer.known + ["untrained"] * (not answer.trained)
        named = [str(place), common.one_line(answer.name), f"{answer.score:.4f}"]
        chance = [number(answer.probability)] * entities
        bins = [f"{answer.degree:,}", readable(answer.bin)]
        rows.append([*named, *chance, *bins, ", ".join(remarks)])
    note = ""
    chances = [a.probability for a in prediction.answers if a.probability is not None]
    if chances:
        note = "\n\n  probability: a lower bound"
        if prediction.another is not None:
            share = f"{100 * prediction.another:.1f} %"
            note += ", if the query lacks an answer;\n"
            note += f"  {share} of the relation's queries with a known answer have a further, "
            note += "unknown one"
    if any(a < b for a, b in pairwise(chances)):
        note += "\n  answers are in the order of their scores; --sort probability uses degrees and"
        note += " known answers"
    why = f"\n\n{why_page(prediction)}" if prediction.answers[0].why is not None else ""
    return f"{title}\n\n{aligned(rows, right={0, 2, 3, 3 + entities})}{note}{why}"


def why_page(prediction: Prediction) -> str:
    """A few lines for each of the first answers."""
    query = prediction.query
    given = query.given["tail" if query.asked == "head" else "head"]
    blocks = [
        _why_block(place, answer, answer.why, given)
        for place, answer in enumerate(prediction.answers[:EXPLAINED], start=1)
        if answer.why is not None
    ]
    title = (
        "  training facts and neighbours of the first answers, the nearest of each;\n"
        "  an answer's own fact is counted in brackets, but not listed"
    )
    return "\n\n".join([title, *blocks])


def _why_block(place: int, answer: Answer, why: Why, given: str) -> str:
    listed = {
        f"same relation and answer ({answer.degree:,})": map(_text, why.same_answer),
        f"of {common.one_line(given)} ({why.given_degree:,})": map(_text, why.of_given),
        "shortest paths": (" + ".join(map(_text, path)) for path in why.paths),
        "nearest by vector": (
            f"{common.one_line(n.name)} {n.cosine:.2f} (degree {n.degree:,}"
            f"{', reciprocal' if n.reciprocal else ''})"
            for n in why.nearest
        ),
    }
    lines = [f"     {title}: {'; '.join(parts) or 'none'}" for title, parts in listed.items()]
    return "\n".join([f"  {place}  {common.one_line(answer.name)}", *lines])


def _text(fact: Triple) -> str:
    return " · ".join(map(common.one_line, (fact.head, fact.relation, fact.tail)))
