"""An account as a table for people: overall and by degree bin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dglkgmix.cli.columns import aligned


def account_table(accounts: Mapping[str, Mapping[str, Any]]) -> str:
    """One block of lines for each named account, bins below their overall figures.

    Shares have four places; a group without queries shows dashes.
    """
    from dglkgmix.evaluation.metrics import columns

    rows = [["", "", "queries", *(metric.title for metric in columns())]]
    for name, account in accounts.items():
        rows.append([name, "overall", *_cells(account["overall"])])
        rows += [["", bin_name, *_cells(group)] for bin_name, group in account["bins"].items()]
    return aligned(rows, right=range(2, len(rows[0])), indent="")


def _cells(group: Mapping[str, Any]) -> list[str]:
    from dglkgmix.evaluation.metrics import columns

    values = [(group[metric.name], metric.style) for metric in columns()]
    figures = ["-" if value is None else style.format(value) for value, style in values]
    return [f"{group['queries']:,}", *figures]
