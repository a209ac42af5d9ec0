"""Writes the figures of docs/results/reliability.jsonl into docs/reliability.md."""

import json
import re
from pathlib import Path

from tests.reliability.summary import figures

ROOT = Path(__file__).resolve().parent.parent.parent
LOG = ROOT / "docs" / "results" / "reliability.jsonl"
PAGE = ROOT / "docs" / "reliability.md"
PLACE = re.compile(r"(?<=<!-- figures -->\n).*?(?=<!-- end -->)", re.DOTALL)


def table(log):
    """The figures as a table."""
    records = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    rows = [
        f"| {name.rpartition(': ')[2]} | {value:,} |" for name, value in figures(records).items()
    ]
    return "\n".join(["| tried | times |", "|---|---:|", *rows]) + "\n"


def page(text, log):
    """The page with the figures of ``log`` in their place."""
    return PLACE.sub(lambda _: table(log), text)


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), LOG), encoding="utf-8")
