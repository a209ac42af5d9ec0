"""How much known answers speak for a candidate, by collaborative filtering.

Neighbourhoods of items and of users (Deshpande and Karypis, 2004), among the facts of one relation.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from dglkgmix.kg.index import TripleIndex

Array = np.ndarray[Any, Any]
_Facts = tuple[Array, Array, Any, Any, Array, Array]
# Entities with more facts by a relation count for no pair: most entities share them, and the pairs
# that they make are as many as the square of their facts.
HUB = 500
# A sum of such powers, and its root, is close to the largest of its terms.
POWER = 4
_BLOCK = 512


class SharedAnswers:
    """The figures for any candidates; the facts of a relation are laid out when first asked for.

    Args:
        known: the facts.
    """

    def __init__(self, known: TripleIndex) -> None:
        counts = np.diff(known.indptr.numpy())
        relations = np.repeat(known.relations.numpy(), counts)
        self._order = np.argsort(relations, kind="stable")
        self._relations = relations[self._order]
        self._heads = np.repeat(known.heads.numpy(), counts)
        self._tails = known.tails.numpy()
        self._made: dict[int, _Facts] = {}

    def of(self, heads: Array, relations: Array, entities: Array) -> Array:
        """(Q, K, 2) of the candidates (Q, K) of Q queries; 0 where nothing speaks for one.

        The candidate e of a query (h, r), among the known facts by r:

        - over the answers a of the query: the share of a's heads that have e, too;
        - over the heads g of e: the share of g's tails that h has, too.

        Each is (Σ share⁴)^¼, so it can exceed 1. A share is n / (1 + N), of N heads or tails.
        """
        found = np.zeros((*entities.shape, 2))
        for relation in np.unique(relations):
            own_heads, own_tails, facts, back, of_head, of_tail = self._facts(int(relation))
            if not len(own_heads):
                continue
            few_heads, few_tails = of_head <= HUB, of_tail <= HUB
            asked = np.flatnonzero(relations == relation)
            rows, known = _places(own_heads, heads[asked])
            asked, rows = asked[known], rows[known]
            for start in range(0, len(asked), _BLOCK):
                block = asked[start : start + _BLOCK]
                own = facts[rows[start : start + _BLOCK]]
                answers = np.unique(own.indices)
                both = back[answers][:, few_heads] @ facts[few_heads]
                shares = both.multiply(1 / (1 + of_tail[answers])[:, None]).power(POWER)
                alike = (own[:, few_tails] @ back[few_tails]).multiply(1 / (1 + of_head))
                columns, present = _places(own_tails, entities[block])
                row, place = present.nonzero()
                if not len(row):
                    continue
                at = row, columns[row, place]
                for i, sums in enumerate((own[:, answers] @ shares, alike.power(POWER) @ facts)):
                    picked = np.asarray(sums.tocsr()[at]).ravel()
                    found[block[row], place, i] = picked ** (1 / POWER)
        return found

    def _facts(self, relation: int) -> _Facts:
        """Of one relation: the ids of its H heads and T tails, ascending; its facts as sparse ones,
        (H, T) and transposed; numbers of facts, (H,) of heads and (T,) of tails.
        """
        from scipy import sparse

        if relation not in self._made:
            at = self._order[slice(*np.searchsorted(self._relations, [relation, relation + 1]))]
            heads, rows = np.unique(self._heads[at], return_inverse=True)
            tails, columns = np.unique(self._tails[at], return_inverse=True)
            ones = np.ones(len(at), dtype=np.float32)
            facts = sparse.csr_matrix((ones, (rows, columns)), (len(heads), len(tails)))
            back = facts.T.tocsr()
            of_head, of_tail = (part.getnnz(1).astype(np.float32) for part in (facts, back))
            self._made[relation] = heads, tails, facts, back, of_head, of_tail
        return self._made[relation]


def _places(ids: Array, wanted: Array) -> tuple[Array, Array]:
    """Where ascending ids hold each wanted one, and whether they do."""
    places = np.searchsorted(ids, wanted).clip(max=len(ids) - 1)
    return places, ids[places] == wanted


@lru_cache(maxsize=2)
def shared_answers(known: TripleIndex) -> SharedAnswers:
    """The figures on the facts of an index, laid out once for it."""
    return SharedAnswers(known)
