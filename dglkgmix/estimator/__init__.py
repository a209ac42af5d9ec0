"""scikit-learn-compatible: an estimator over triples, and the MRR of the low bin as a scorer."""

from __future__ import annotations

from dglkgmix.estimator.completer import KGCompleter
from dglkgmix.estimator.packed import PackedRun
from dglkgmix.estimator.ranks import low_degree_mrr

__all__ = ["KGCompleter", "PackedRun", "low_degree_mrr"]
