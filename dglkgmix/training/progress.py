"""What a person sees while a model trains: a bar on a terminal, lines elsewhere, or nothing."""

from __future__ import annotations

import sys
import time
from typing import Any, TextIO

from dglkgmix.runs.history import Row


class Progress:
    """No output: the base of the others, and what ``--quiet`` takes."""

    def message(self, text: str) -> None:
        """Say something that is no figure of an epoch."""

    def start_stage(self, name: str, first_epoch: int, epochs: int, batches: int) -> None:
        """A stage begins or goes on with ``first_epoch`` (1-based) of ``epochs``."""

    def batch(self, terms: int) -> None:
        """A batch with ``terms`` positive and synthetic terms is done."""

    def epoch(self, row: Row) -> None:
        """An epoch is done and, where it was due, validated."""

    def end_stage(self) -> None:
        """The stage is over, by its own end or an error."""


class LineProgress(Progress):
    """Plain lines on a stream that is no terminal: one an epoch, about one a second at most."""

    def __init__(self, stream: TextIO | None = None, *, interval: float = 1.0) -> None:
        self._stream = stream or sys.stderr
        self._interval = interval

    def message(self, text: str) -> None:
        """Print the text, above a bar where there is one."""
        print(text, file=self._stream, flush=True)

    def start_stage(self, name: str, first_epoch: int, epochs: int, batches: int) -> None:
        """Start counting."""
        self._epochs, self._done = epochs, 0
        self._start, self._last = time.monotonic(), -self._interval

    def epoch(self, row: Row) -> None:
        """Show the epoch's figures, and what is left at the pace of this session."""
        self._done += 1
        elapsed = time.monotonic() - self._start
        due = elapsed - self._last >= self._interval
        if due or row.valid_mrr is not None or row.epoch == self._epochs:
            self._last = elapsed
            left = _duration(elapsed / self._done * (self._epochs - row.epoch))
            parts = [_losses(row), _speed(row), _valid(row), f"{left} left at most"]
            figures = "  ".join(part for part in parts if part)
            self.message(f"{row.stage} {row.epoch}/{self._epochs} {figures}")


class BarProgress(Progress):
    """A tqdm bar for the stage, counting epochs, with the current epoch's share behind it."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._bar: Any = None

    def message(self, text: str) -> None:
        """Print the text, above a bar where there is one."""
        from tqdm import tqdm

        tqdm.write(text, file=self._stream)

    def start_stage(self, name: str, first_epoch: int, epochs: int, batches: int) -> None:
        """Start counting."""
        from tqdm import tqdm

        self._batches, self._valid = batches, ""
        self._bar = tqdm(
            total=epochs * batches,
            initial=(first_epoch - 1) * batches,
            desc=f"{name} {first_epoch}/{epochs}",
            bar_format="{desc} |{bar}| {percentage:3.0f}% [{elapsed}<{remaining}{postfix}]",
            file=self._stream,
            dynamic_ncols=True,
            mininterval=0.2,
        )

    def batch(self, terms: int) -> None:
        """Move the bar on."""
        self._bar.update(1)

    def epoch(self, row: Row) -> None:
        """Show the epoch's figures."""
        epochs = self._bar.total // self._batches
        self._bar.set_description_str(f"{row.stage} {row.epoch}/{epochs}", refresh=False)
        # What validation and a changing number of batches leave uneven is made good here.
        self._bar.n = row.epoch * self._batches
        self._valid = _valid(row) or self._valid
        parts = [_losses(row), _speed(row), self._valid]
        self._bar.set_postfix_str(", ".join(part for part in parts if part))

    def end_stage(self) -> None:
        """Take the bar down."""
        if self._bar is not None:
            self._bar.close()
            self._bar = None


def make_progress(*, quiet: bool = False, stream: TextIO | None = None) -> Progress:
    """A bar where ``stream`` (standard error) is a terminal, lines elsewhere, nothing if quiet."""
    stream = stream or sys.stderr
    if quiet:
        return Progress()
    return BarProgress(stream) if stream.isatty() else LineProgress(stream)


def _speed(row: Row) -> str:
    """Positive and synthetic terms a second."""
    return f"{(row.positives + row.synthetic_samples) / max(row.seconds, 1e-9):,.0f} triples/s"


def _valid(row: Row) -> str:
    """Empty where nothing was validated."""
    if row.valid_mrr is None:
        return ""
    goal = "" if row.valid_goal in (None, row.valid_mrr) else f" (goal {row.valid_goal:.4f})"
    of = " of the average" if row.averaged else ""
    return f"valid MRR{of} {row.valid_mrr:.4f}{goal}"


def _losses(row: Row) -> str:
    text = f"loss {row.loss:.4g}"
    if row.synthetic_samples:
        text += f" (graph {row.kg_loss:.4g}, synthetic {row.synthetic_loss:.4g})"
    return text


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"
