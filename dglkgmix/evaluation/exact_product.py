"""Products of queries with entities that are the same numbers however the work is cut.

The sum of a float32 product depends on its order, which blocks, threads, processes and instruction
sets choose; equal scores come apart then, and ranks with them. Here every vector is first rounded
to a multiple of a power of two, so coarse that a product of two vectors, and each part of its sum,
is a whole number of 53 bits: float64 holds it exactly, in whatever order it is added up.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

# Entities whose vectors and scores are held in float64 at once.
_TILE = 1024
# Bits of a float32's fraction, of a float64's whole numbers, and the most that ``rounded`` keeps.
_FRACTION, _WHOLE, _MOST = 23, 53, 22


def rounded(vectors: Tensor) -> Tensor:
    """(N, D) float32 vectors, each rounded to 22 bits below its own largest number.

    More than 512 numbers a vector leave 21 bits, more than 2,048 leave 20: two rounded vectors
    multiply to D whole numbers of twice the bits. A number changes by at most 2⁻²² (2⁻²¹, …) of
    the largest in its vector.
    """
    vectors = vectors.float()
    dim = max(1, vectors.shape[1])
    bits = min(_MOST, (_WHOLE - math.ceil(math.log2(dim))) // 2)
    exponent = torch.frexp(vectors.abs().amax(1, keepdim=True)).exponent
    # The last bit of this number is worth 2 ** (exponent - bits), and so is that of a sum with it.
    anchor = torch.ldexp(vectors.new_full(exponent.shape, 1.5), exponent + (_FRACTION - bits))
    return (vectors + anchor).sub_(anchor)


def product(queries: Tensor, entities: Tensor, bias: Tensor | None = None) -> Tensor:
    """Scores (B, E) in float32 of queries (B, D) and entities (E, D), both :func:`rounded`.

    Each is the exact product, plus its entity's bias (E,), rounded to float32 once.
    """
    scores = queries.new_empty(len(queries), len(entities))
    wide = queries.double()
    for start in range(0, len(entities), _TILE):
        tile = slice(start, start + _TILE)
        exact = wide @ entities[tile].double().T
        scores[:, tile] = exact if bias is None else exact.add_(bias[tile])
    return scores


def candidate_product(queries: Tensor, candidates: Tensor, bias: Tensor | None = None) -> Tensor:
    """Scores (B, K) of queries (B, D) and their candidates (B, K, D): those of :func:`product`."""
    exact = torch.bmm(candidates.double(), queries.double().unsqueeze(2)).squeeze(2)
    return (exact if bias is None else exact.add_(bias)).float()
