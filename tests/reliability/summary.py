"""The figures of a log; run as a program, writes those of the full run into docs/reliability.md."""

import json
import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
LOG = ROOT / "docs" / "results" / "reliability.jsonl"
PAGE = ROOT / "docs" / "reliability.md"
PLACE = re.compile(r"(?<=<!-- figures -->\n).*?(?=<!-- end -->)", re.DOTALL)


def figures(records):
    """Kills, faults, foreign inputs and losses, by kind."""
    found = Counter(kills=0, faults=0, inputs=0, losses=0)
    for record in records:
        found["losses"] += bool(record["lost"])
        if record["kind"] == "kill":
            found["kills"] += record["exit"] == -9
        if record["kind"] == "fault":
            found["faults"] += 1
            found[f"faults: {record['what']}"] += 1
        if record["kind"] == "foreign":
            found["inputs"] += record["inputs"]
            found[f"inputs: {record['what']}"] += record["inputs"]
    return dict(found)


def summary(records):
    """One line a figure."""
    return "\n".join(f"{value:>8,}  {name}" for name, value in figures(records).items())


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
