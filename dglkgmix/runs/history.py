"""What happened in each epoch: plain rows, ``history.csv`` and TensorBoard events."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import asdict, astuple, dataclass, fields
from pathlib import Path
from typing import Any

from dglkgmix.atomic import csv_lines
from dglkgmix.errors import CheckpointError, DependencyError


@dataclass(frozen=True)
class Row:
    """One epoch of one stage.

    Losses are means over the epoch's batches of the quantity that was minimised: with
    ``reduction="sum"`` a batch's sum. ``synthetic_loss`` stands before its weight β. The gradient
    norm is taken over all parameters before clipping, its mean and maximum over the batches, of
    which one in ten is measured where nothing is clipped.
    ``positives`` counts positive terms, ``seconds`` the epoch with its validation. ``averaged``
    is the number of models in the running average, ``valid_mrr`` a fraction or None where nothing
    was validated; its ranks are filtered by train and valid alone. ``valid_goal`` is the value
    that early stopping and selection follow (``training.select``): with "mrr" the same number.
    """

    stage: str
    epoch: int
    loss: float
    kg_loss: float
    synthetic_loss: float
    synthetic_samples: int
    positives: int
    batches: int
    lr: float
    gradient_norm: float
    gradient_norm_max: float
    seconds: float
    valid_mrr: float | None = None
    averaged: int = 0
    valid_goal: float | None = None


COLUMNS = tuple(field.name for field in fields(Row))
_INTEGERS = ("epoch", "synthetic_samples", "positives", "batches", "averaged")
_KINDS: dict[str, Any] = {"stage": str, **dict.fromkeys(_INTEGERS, int)}


def to_csv(rows: Iterable[Row]) -> bytes:
    """``history.csv``: a header and one line an epoch; floats unrounded, None empty."""
    return "".join(csv_lines([COLUMNS, *map(astuple, rows)])).encode()


def from_csv(data: bytes, where: str = "history.csv") -> list[dict[str, Any]]:
    """Read :func:`to_csv` back as dictionaries; 0.1.0 had no ``valid_goal``, which is None then.

    Raises:
        CheckpointError: other columns, or fields that are no numbers; starts with ``where``.
    """
    try:
        reader = csv.DictReader(io.StringIO(data.decode()))
        rows = [
            {key: None if text == "" else _KINDS.get(key, float)(text) for key, text in row.items()}
            for row in reader
        ]
    except (ValueError, TypeError, csv.Error) as error:
        raise CheckpointError(f"{where}: {error}") from None
    if tuple(reader.fieldnames or ()) not in (COLUMNS, COLUMNS[:-1]):
        raise CheckpointError(f"{where}: columns are {reader.fieldnames}, not {list(COLUMNS)}")
    return [dict.fromkeys(COLUMNS) | row for row in rows]


def to_rows(values: Iterable[dict[str, Any]]) -> list[Row]:
    """Rows from dictionaries with exactly the columns of :class:`Row`."""
    try:
        return [Row(**value) for value in values]
    except TypeError as error:
        raise CheckpointError(f"history: {error}") from None


class TensorBoard:
    """Writes each row as scalars; needs ``pip install dglkgmix[tracking]``.

    Files lie under ``folder``, one sub-folder a stage. A resumed run goes on in new event files,
    which TensorBoard shows as one curve.
    """

    def __init__(self, folder: Path) -> None:
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise DependencyError(
                f"TensorBoard does not load ({error}): pip install 'dglkgmix[tracking]'"
            ) from None
        self._make = SummaryWriter
        self._folder = folder
        self._writers: dict[str, Any] = {}

    def write(self, row: Row) -> None:
        """Add every number of ``row`` at its epoch."""
        if row.stage not in self._writers:
            self._writers[row.stage] = self._make(str(self._folder / row.stage))
        for name, value in asdict(row).items():
            if name not in ("stage", "epoch") and value is not None:
                self._writers[row.stage].add_scalar(name, value, row.epoch)

    def close(self) -> None:
        """Flush and close all event files."""
        for writer in self._writers.values():
            writer.close()
