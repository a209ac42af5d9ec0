"""An account as a table for people: overall and by degree bin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dglkgmix.cli.columns import aligned

_COLUMNS = ("mrr", "hits@1", "hits@3", "hits@10")


def account_table(accounts: Mapping[str, Mapping[str, Any]]) -> str:
    """One block of lines for each named account, bins below their overall figures.

    MRR and Hits@k are fractions to four places; a group without queries shows dashes.
    """
    rows = [["", "", "queries", "MRR", "Hits@1", "Hits@3", "Hits@10", "mean rank"]]
    for name, account in accounts.items():
        rows.append([name, "overall", *_cells(account["overall"])])
        rows += [["", bin_name, *_cells(group)] for bin_name, group in account["bins"].items()]
    return aligned(rows, right=range(2, len(rows[0])), indent="")


def _cells(group: Mapping[str, Any]) -> list[str]:
    figures = [_number(group[column], "{:.4f}") for column in _COLUMNS]
    return [f"{group['queries']:,}", *figures, _number(group["mr"], "{:,.1f}")]


def _number(value: float | None, style: str) -> str:
    return "-" if value is None else style.format(value)
