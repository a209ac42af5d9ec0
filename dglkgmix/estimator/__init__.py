"""The scikit-learn face: an estimator over triples and a scorer for the bin that matters."""

from __future__ import annotations

from dglkgmix.estimator.completer import KGCompleter
from dglkgmix.estimator.packed import PackedRun
from dglkgmix.estimator.ranks import low_degree_mrr

__all__ = ["KGCompleter", "PackedRun", "low_degree_mrr"]
