"""``make results``: the pages of results and their pictures from the JSON files beside this one.

Every table, figure and number of a page comes from a ``results.json`` that ``dglkgmix experiment``
wrote; its template, ``….md.jinja``, holds the words. To bring in a new measurement::

    dglkgmix experiment evidence-world --out FOLDER
    python docs/results/build.py --take FOLDER evidence-world

``figure2-…`` files come from one run each, by ``panels.py``.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Mapping, Sized
from functools import lru_cache
from pathlib import Path
from typing import Any

import jinja2

from dglkgmix.experiments.recipes import paper_numbers
from dglkgmix.experiments.results_text import tables
from dglkgmix.report.figures.bars import Estimate, draw_mrr_by_bin
from dglkgmix.report.figures.canvas import save
from dglkgmix.report.figures.degree_curves import (
    ANSWER_DEGREE,
    ENTITY_DEGREE,
    draw_curves,
    draw_joint,
)

Axes = Mapping[str, Any]
HERE = Path(__file__).resolve().parent
PAGES = {
    HERE.parent / "results.md": "results.md.jinja",
    HERE / "first-findings.md": "first-findings.md.jinja",
}
# Pages that open with the headline, and where their links start from.
FRONTS = {HERE.parents[1] / "README.md": "docs/", HERE.parent / "index.md": ""}
MARKED = re.compile(r"(?<=<!-- results -->\n).*?(?=<!-- /results -->)", re.DOTALL)

PLACES = ("overall", "zero", "low", "medium", "high")
TESTED = ": difference in MRR [95 % interval], p-value"
CAPTIONS = {
    "Overall": "Test metrics",
    "Comparisons": f"Further pairs{TESTED}",
    "Calibration error over degree bins": "Calibration error over degree bins (lower is better)",
    "Mean embedding distance": "Mean distance between the embeddings of mixing partners",
    "Budget": "Optimiser steps and seconds",
}


@lru_cache
def load(name: str) -> dict[str, Any]:
    """The results of one experiment."""
    found: dict[str, Any] = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
    return found


def group(name: str, strategy: str, **axes: Any) -> dict[str, Any]:
    """One setting of an experiment, its seeds put together."""
    (found,) = [g for g in load(name)["groups"] if _has(g, {"strategy": strategy, **axes})]
    return found


def _has(entry: dict[str, Any], axes: Axes) -> bool:
    every = {**entry, **entry["options"]}
    return all(every[axis] == value for axis, value in axes.items())


def table(name: str, title: str) -> str:
    """One of the tables that ``results.md`` of the experiment has.

    Its data set, model and number of queries are left out where every line has the same.
    """
    shown = CAPTIONS.get(title, title) + (TESTED if title.startswith("Against") else "")
    rows = [line[2:-2].split(" | ") for line in tables(load(name))[title].splitlines()]
    columns = dict(enumerate(zip(*rows[2:], strict=True)))
    alike = {"data", "model", "queries"}
    kept = [i for i, head in enumerate(rows[0]) if head not in alike or len(set(columns[i])) > 1]
    return f"**{shown}**\n\n{_markdown([row[i] for i in kept] for row in rows)}"


def _markdown(rows: Iterable[Iterable[str]]) -> str:
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def mrr(name: str, strategy: str, where: str = "overall", **axes: Any) -> str:
    """Test MRR as in the tables; ``where`` is "overall" or a bin."""
    return f"{_mean(group(name, strategy, **axes), where):.4f}"


def difference(
    name: str, of: str, against: str, where: str = "overall", axis: str = "strategy", **axes: Any
) -> str:
    """Difference in MRR of one strategy, or value of another axis, from another; its interval."""
    found = _at(_test(name, {axis: of}, {axis: against}, axes), where)["mrr"]
    ends = ", ".join(signed(found[end]) for end in ("ci_low", "ci_high"))
    return f"{signed(found['difference'])} [{ends}]"


def _test(name: str, of: Axes, against: Axes, axes: Axes) -> dict[str, Any]:
    """The test of one setting against another, wherever the experiment has it."""
    results = load(name)
    if against == {"strategy": results["baseline"]}:
        return group(name, **{**axes, **of})["test"]
    (found,) = [
        pair["test"]
        for pair in results["comparisons"]
        if _has(pair, {**axes, **of}) and _has(pair["against"], {**axes, **against})
    ]
    return found


def ece(name: str, strategy: str, where: str = "overall", **axes: Any) -> str:
    """Mean calibration error over degree bins; a dash where σ(score) is no probability."""
    found = group(name, strategy, **axes)
    return f"{found['account']['ece'][where]['mean']:.3f}" if found["probabilities"] else "–"


def distance(name: str, strategy: str, of: str, **axes: Any) -> str:
    """Mean embedding distance of mixing partners; ``of`` is "head" or "relation"."""
    return f"{group(name, strategy, **axes)['distances'][of]['mean']:.2f}"


def _mean(found: dict[str, Any], where: str = "overall") -> float:
    """Mean test MRR of a setting over its seeds."""
    return float(_at(found["account"], where)["mrr"]["mean"])


def _at(tree: dict[str, Any], where: str) -> dict[str, Any]:
    """What an account or a test has for all queries, or for a bin of them."""
    found: dict[str, Any] = tree["overall"] if where == "overall" else tree["bins"][where]
    return found


def seeds(name: str) -> str:
    """How many seeds every setting has, in words."""
    (count,) = {len(g["seeds"]) for g in load(name)["groups"]}
    return ("no", "one", "two", "three", "four", "five")[count]


def signed(value: float) -> str:
    """Four digits, with a sign."""
    return f"{value:+.4f}".replace("-", "\N{MINUS SIGN}")


def made(name: str, command: str | None = None) -> str:
    """Command, seeds, machine and versions of an experiment."""
    results = load(name)
    cells = [cell for cell in results["cells"] if cell["state"] == "done"]
    seeds = sorted({cell["seed"] for cell in cells})
    hours = sum(stage["seconds"] for stage in _stages(cells)) / 3600
    places = {tuple(sorted(cell["environment"].items())) for cell in cells}
    how = command or f"dglkgmix experiment {name} --out FOLDER"
    lines = [
        f"`{how}` made `docs/results/{name}.json`.",
        f"{len(cells)} cell{_s(cells)}, seed{_s(seeds)} {', '.join(map(str, seeds))};",
        f"{hours:.1f} hours of training.",
        *(_place(dict(place)) for place in sorted(places)),
    ]
    return " ".join(lines)


def _s(counted: Sized) -> str:
    return "" if len(counted) == 1 else "s"


def _stages(cells: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Every training's stages once: a shared first stage is in the budget of each cell."""
    seen: dict[tuple[str, str], dict[str, Any]] = {}
    for cell in cells:
        first = cell["settings"]["pretrain"]["run"]
        for stage, budget in cell["budget"].items():
            # The first stage as a cell of its own has it under its own name.
            seen[(first, "train") if stage == "pretrain" else (cell["run"], stage)] = budget
    return list(seen.values())


def _place(environment: dict[str, Any]) -> str:
    e = environment
    gpu = f" and one {e['gpu']}" if "gpu" in e else ""
    return (
        f"dglkgmix {e['dglkgmix']}, PyTorch {e['torch']}, DGL {e['dgl']}, Python {e['python']}, "
        f"{e['machine']} with {e['cpus']} cores{gpu}."
    )


def figure(name: str, strategies: Iterable[str], caption: str, **axes: Any) -> str:
    """Draw MRR by bin of some strategies beside each other; the Markdown that shows it."""
    settings = {s: (name, s) for s in strategies}
    return figure_of("-".join([name, *map(str, axes.values())]), settings, caption, **axes)


def figure_of(file: str, settings: Mapping[str, tuple[str, str]], caption: str, **axes: Any) -> str:
    """The same of settings of several experiments: label → experiment and strategy."""
    shown = {label: _estimates(group(*where, **axes)) for label, where in settings.items()}
    save(draw_mrr_by_bin(shown)[0], HERE / f"{file}.png")
    return f"![{caption}](results/{file}.png)"


def panels(name: str, captions: Iterable[str]) -> str:
    """Draw the three panels of the paper's Figure 2; the Markdown row that shows them."""
    found = load(name)["panels"]
    drawn = {
        "entity": draw_curves(found["entity"], ENTITY_DEGREE),
        "relation": draw_curves(found["relation"], ANSWER_DEGREE),
        "joint": draw_joint(found["joint"]),
    }
    for panel, (picture, _) in drawn.items():
        save(picture, HERE / f"{name}-{panel}.png")
    shown = [f"![{c}](results/{name}-{p}.png)" for p, c in zip(drawn, captions, strict=True)]
    rows = [shown, ["---"] * len(shown), ["MRR by entity degree", "by the answer's", "by both"]]
    return _markdown(rows)


def _estimates(found: dict[str, Any]) -> dict[str, Estimate]:
    return {
        name: Estimate(
            bin_["mrr"]["mean"], *found["intervals"][name], round(bin_["queries"]["mean"])
        )
        for name, bin_ in found["account"]["bins"].items()
    }


def by_bin(rows: Iterable[tuple[str, tuple[str, ...]]]) -> str:
    """Test MRR overall and by bin; rows are a label and what ``measured`` or ``papers`` gives."""
    lines = [["", *PLACES], ["---", *["---:"] * len(PLACES)]]
    return _markdown([*lines, *([label, *values] for label, values in rows)])


def changes(rows: Iterable[tuple[str, str, str, str, str]]) -> str:
    """Differences in MRR overall and by bin, bold where interval and p-value agree on one.

    Rows are a label, a data set's name, an experiment, and two of its strategies.
    """
    lines = [["strategy", "graph", "against", *PLACES], [*["---"] * 3, *["---:"] * len(PLACES)]]
    for label, data, name, of, against in rows:
        test = _test(name, {"strategy": of}, {"strategy": against}, {})
        found = (_change(_at(test, place)["mrr"]) for place in PLACES)
        lines.append([label, data, against, *found])
    return _markdown(lines)


def _change(found: dict[str, Any]) -> str:
    text = signed(found["difference"])
    certain = found["p_value"] < 0.05 and found["ci_low"] * found["ci_high"] > 0
    return f"**{text}**" if certain else text


def measured(name: str, strategy: str, **axes: Any) -> tuple[str, ...]:
    """Test MRR of a setting of an experiment, overall and by bin."""
    return tuple(mrr(name, strategy, place, **axes) for place in PLACES)


def papers(data: str, model: str, strategy: str) -> tuple[str, ...]:
    """The same of the paper's tables, never ours; dashes where it reports none."""
    found = paper_numbers(data, model, strategy)
    keys = ("overall.mrr", *(f"bins.{name}.mrr" for name in PLACES[1:]))
    return tuple(f"{found[key]:.4f}" if key in found else "–" for key in keys)


def published(value: str) -> tuple[str, ...]:
    """An MRR that others report, without bins."""
    return (value, *["–"] * (len(PLACES) - 1))


CLAIMS: tuple[tuple[str, str, str], ...] = (
    ("the low bin rises", "mrr", "low"),
    ("so does the zero bin", "mrr", "zero"),
    ("the medium bin keeps", "mrr", "medium"),
    ("the high bin keeps", "mrr", "high"),
    ("overall MRR rises", "mrr", "overall"),
    ("calibration improves, low bin", "ece", "low"),
    ("calibration improves, overall", "ece", "overall"),
    ("embeddings of heads draw together", "distance", "head"),
    ("those of relations, too", "distance", "relation"),
)


def claims(pairs: Iterable[tuple[str, str, str, str]]) -> str:
    """The paper's claims, a line each; pairs are a label, an experiment, mixup and its control."""
    pairs = list(pairs)
    lines = [["claim", *(label for label, *_ in pairs)], ["---"] * (len(pairs) + 1)]
    for claim, kind, where in CLAIMS:
        lines.append([claim, *(_claim(kind, where, *pair) for _, *pair in pairs)])
    return _markdown(lines)


def _claim(kind: str, where: str, name: str, mixup: str, control: str) -> str:
    if kind == "mrr":
        return difference(name, mixup, control, where)
    shown = {"ece": ece, "distance": distance}[kind]
    ours, theirs = (shown(name, strategy, where) for strategy in (mixup, control))
    return "–" if ours == "–" else f"{ours}, without {theirs}"


WORDS = (
    *(table, figure, figure_of, panels, claims, by_bin, changes, measured, papers, published, made),
    *(mrr, difference, distance, seeds),
)


def render(template: str, page: Path, **more: Any) -> str:
    """The text of a page, or of a part of it."""
    loader = jinja2.FileSystemLoader(HERE)
    # Markdown from our own files: what goes in is Markdown, too.
    environment = jinja2.Environment(  # noqa: S701
        loader=loader, undefined=jinja2.StrictUndefined, keep_trailing_newline=True
    )
    names = {f.__name__: f for f in WORDS}
    text = environment.get_template(template).render(**names, **more)
    # Lines of the template that only set a name leave blank ones.
    text = re.sub(r"\n{3,}", "\n\n", text)
    # Pictures are linked from docs/.
    return text.replace("](results/", "](") if page.parent == HERE else text


def with_headline(page: Path) -> str:
    """A front page's text with the picture and the claim of today's results."""
    headline = render("headline.md.jinja", page, root=FRONTS[page])
    return MARKED.sub(lambda _: headline, page.read_text(encoding="utf-8"))


def take(folder: Path, name: str) -> None:
    """Keep the results of an experiment's folder as NAME.json, all in one line."""
    found = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    if found["counts"]["done"] < len(found["cells"]):
        raise SystemExit(f"{folder}: not finished: {found['counts']}")
    text = json.dumps(found, indent=None, separators=(",", ":"), ensure_ascii=False)
    (HERE / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def main() -> None:
    """Write the page, after taking in a measurement where one is given."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--take", nargs=2, metavar=("FOLDER", "NAME"))
    given = parser.parse_args()
    if given.take:
        take(Path(given.take[0]), given.take[1])
    for page, template in PAGES.items():
        page.write_text(render(template, page), encoding="utf-8")
    for front in FRONTS:
        front.write_text(with_headline(front), encoding="utf-8")


if __name__ == "__main__":
    main()
