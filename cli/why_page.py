"""What training holds beside answers, as lines for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dglkgmix.cli.common import one_line

if TYPE_CHECKING:
    from dglkgmix.prediction.answers import Answer, Prediction
    from dglkgmix.prediction.facts import Triple
    from dglkgmix.prediction.why import Why

# Answers that are explained in a terminal.
MOST = 3


def why_page(prediction: Prediction) -> str:
    """A few lines for each of the first answers."""
    query = prediction.query
    given = query.given["tail" if query.asked == "head" else "head"]
    blocks = [
        "\n".join([f"  {place}  {one_line(answer.name)}", *_lines(answer, answer.why, given)])
        for place, answer in enumerate(prediction.answers[:MOST], start=1)
        if answer.why is not None
    ]
    title = (
        "  training facts and neighbours of the first answers, the nearest of each;\n"
        "  an answer's own fact is counted in brackets, but not listed"
    )
    return "\n\n".join([title, *blocks])


def _lines(answer: Answer, why: Why, given: str) -> list[str]:
    listed = {
        f"same relation and answer ({answer.degree:,})": map(_text, why.same_answer),
        f"of {one_line(given)} ({why.given_degree:,})": map(_text, why.of_given),
        "shortest paths": (" + ".join(map(_text, path)) for path in why.paths),
        "nearest by vector": (
            f"{one_line(n.name)} {n.cosine:.2f} (degree {n.degree:,}"
            f"{', reciprocal' if n.reciprocal else ''})"
            for n in why.nearest
        ),
    }
    return [f"     {title}: {'; '.join(parts) or 'none'}" for title, parts in listed.items()]


def _text(fact: Triple) -> str:
    return " · ".join(map(one_line, (fact.head, fact.relation, fact.tail)))
