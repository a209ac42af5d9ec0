"""Transforms, samplers and modules for a user's own DGL pipeline."""

from __future__ import annotations

from dglkgmix.pipeline.collator import MixupCollator
from dglkgmix.pipeline.ids import GraphIds
from dglkgmix.pipeline.negative_samplers import FilteredNegativeSampler, LowDegreeNegativeSampler
from dglkgmix.pipeline.partners import MixupPartners
from dglkgmix.pipeline.rgcn import HeteroRGCN
from dglkgmix.pipeline.transforms import TailRelationDegree

__all__ = [
    "FilteredNegativeSampler",
    "GraphIds",
    "HeteroRGCN",
    "LowDegreeNegativeSampler",
    "MixupCollator",
    "MixupPartners",
    "TailRelationDegree",
]
