"""The figures of a log."""

from collections import Counter


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
