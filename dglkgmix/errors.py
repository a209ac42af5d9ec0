"""Every error that dglkgmix raises on purpose.

All derive from :class:`DglkgmixError`; each is also the built-in exception that Python users
would catch in its place. ``exit_status`` is what the command line ends with.
"""

from __future__ import annotations

# How messages call what the command line and Python spell differently.
OVERWRITE = "--overwrite (overwrite=True in Python)"
DIVERGED = "the training has diverged; train again with a smaller --lr"


class DglkgmixError(Exception):
    """Base of all errors of this library."""

    exit_status = 1


class DataError(DglkgmixError, ValueError):
    """Triples, names, files or arrays that cannot be used; the message says where."""

    exit_status = 2


class UnknownNameError(DataError):
    """An entity, relation or data set that does not exist; the message lists close matches."""


class OutOfRangeError(DglkgmixError, IndexError):
    """An entity or relation id outside the graph."""

    exit_status = 2


class ConfigError(DglkgmixError, ValueError):
    """An option, or a combination of options, that makes no sense; the message names it."""

    exit_status = 2


class CheckpointError(DglkgmixError, ValueError):
    """A run folder, or a file in one, that is incomplete, damaged, foreign or in use."""

    exit_status = 2


class NumericError(DglkgmixError, ArithmeticError):
    """A loss or score that is not finite; the message says in which epoch, batch or query."""


class StorageError(DglkgmixError, OSError):
    """A disk, folder or mirror that failed during the work."""


class OutputError(StorageError):
    """Standard output that cannot be written."""


class DependencyError(DglkgmixError, ImportError):
    """A package that is missing or does not load; the message names the command that mends it."""


class PeerError(DglkgmixError, ConnectionError):
    """Another process of the same training has ended or cannot be reached."""
