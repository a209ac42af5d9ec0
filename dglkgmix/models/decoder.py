"""What every decoder is: vectors in, scores out, and no idea of ids."""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from typing import Any

import torch
from torch import Tensor, nn
from typing_extensions import Self

from dglkgmix.config import ModelConfig
from dglkgmix.errors import ConfigError


class Decoder(nn.Module, ABC):
    """Scores triples from the vectors of their head, relation and tail.

    A decoder first makes a query of a head and a relation, then scores it against tails. It
    takes vectors, never ids, so mixed vectors pass through it like any other.

    Letters: B batch, E entities, K candidates of a query, U distinct relations, De, Dr and Dq the
    dimensions of entity, relation and query vectors.

    Attributes:
        title: what people call it; empty for the class's own name.
        bias_by_default: whether scores get a per-entity bias unless ``model.bias`` says otherwise.
        two_dims: whether ``model.relation_dim`` may differ from ``model.entity_dim``.
        sigmoid_is_probability: whether σ(score) can be read as one after binary cross-entropy.
        shares_relations: whether ``query`` gains from being given each distinct relation once.
        is_bilinear: whether ``score_all`` is ``query @ entities.T + bias``.
        predicts_relations: whether there is a :meth:`relation_query`.
        most_epochs: the most epochs of a training where none are given.
        prefers_softmax: whether it is trained with softmax cross-entropy, Adagrad and an N3 penalty
            where nothing else is given (Lacroix et al., 2018).
        long_vectors: whether tables start so long that Adam takes three times its own rate.

    The constructor's parameters are the options it reads: ``entity_dim``, ``relation_dim``, options
    of ``[model]`` and those that the class declares in ``Options``.
    """

    title = ""
    bias_by_default = False
    two_dims = False
    sigmoid_is_probability = True
    shares_relations = False
    is_bilinear = True
    predicts_relations = False
    most_epochs = 500
    prefers_softmax = False
    long_vectors = False

    arguments: dict[str, Any]

    def __new__(cls, *args: Any, **kwargs: Any) -> Self:
        """Notes ``arguments``, what it is made with by the constructor's names."""
        decoder = super().__new__(cls)
        arguments = inspect.signature(cls.__init__).bind_partial(None, *args, **kwargs).arguments
        arguments.pop("self")
        object.__setattr__(decoder, "arguments", arguments)
        return decoder

    def __init__(self, entity_dim: int, relation_dim: int) -> None:
        super().__init__()
        self.entity_dim = entity_dim
        self.relation_dim = relation_dim

    @classmethod
    def settle(cls, options: ModelConfig[Any], entity_dim: int) -> dict[str, Any]:
        """Values of options that are "auto" and depend on the dimension; none by default.

        Raises:
            ConfigError: nothing fits the dimension.
        """
        return {}

    @property
    def largest(self) -> int:
        """Numbers of the largest tensor that one query passes through: what it costs in memory."""
        return self.entity_dim

    def query(self, head: Tensor, relation: Tensor, rows: Tensor | None = None) -> Tensor:
        """Queries (B, Dq) of heads (B, De) and relations (B, Dr).

        With ``rows`` (B,), ``relation`` is (U, Dr) and query b has relation ``rows[b]``.
        """
        if rows is not None:
            relation = relation.index_select(0, rows)
        return self._query(head, relation)

    @abstractmethod
    def _query(self, head: Tensor, relation: Tensor) -> Tensor:
        """Queries (B, Dq) of heads (B, De) and relations (B, Dr), row by row."""

    def relation_inputs(self, head: Tensor, tail: Tensor) -> tuple[Tensor, Tensor]:
        """What :meth:`relation_query` takes of a batch's heads and tails (P, De): they themselves.

        Whatever reads what other passes change, such as a norm's statistics, belongs here:
        ``relation_query`` is computed again for the gradient.
        """
        return head, tail

    def relation_query(self, head: Tensor, tail: Tensor) -> Tensor:
        """Queries (B, Dr) of :meth:`relation_inputs`, to be scored against relations (R, Dr).

        ``relation_query(*relation_inputs(h, t)) @ relations.T`` are the scores of (h, r, t) for
        each relation, less what is the same for all relations of a row: softmax over relations
        does not see that. Dropout on the head is as in ``query``; the per-entity bias is left out.

        Raises:
            ConfigError: scores of this decoder are no product with the relation.
        """
        raise ConfigError(f"{type(self).__name__} has no product with all relations")

    def score_all(self, query: Tensor, entities: Tensor, bias: Tensor | None = None) -> Tensor:
        """Scores (B, E) of each query (B, Dq) against all entities (E, De), with bias (E,)."""
        if bias is None:
            return query @ entities.T
        return torch.addmm(bias, query, entities.T)

    def score(self, query: Tensor, candidates: Tensor, bias: Tensor | None = None) -> Tensor:
        """Scores (B, K) of each query (B, Dq) against its candidates (B, K, De), bias (B, K)."""
        scores = torch.bmm(candidates, query.unsqueeze(2)).squeeze(2)
        return scores if bias is None else scores + bias

    def squared_moduli(self, vectors: Tensor) -> Tensor:
        """|x|² of each number of entity or relation vectors (B, D): what penalties are made of."""
        return vectors.square()

    def relation_directions(self, relations: Tensor) -> Tensor:
        """What is compared where relations (R, Dr) are: their vectors, by default; (R, ...)."""
        return relations

    def start_tables(self, entities: Tensor, relations: Tensor) -> None:
        """Fill embedding tables (E, De) and (2R, Dr) with the values a training starts from."""
        nn.init.xavier_normal_(entities)
        nn.init.xavier_normal_(relations)


class MatrixDecoder(Decoder):
    """A decoder that makes a matrix of each relation, once for all queries that share it."""

    shares_relations = True

    @property
    def largest(self) -> int:
        """A query's own copy of its relation's matrix (De, De)."""
        return self.entity_dim**2

    @abstractmethod
    def query(self, head: Tensor, relation: Tensor, rows: Tensor | None = None) -> Tensor:
        """Queries (B, Dq); see :meth:`Decoder.query`."""

    def _query(self, head: Tensor, relation: Tensor) -> Tensor:
        return self.query(head, relation)


def outer(left: Tensor, right: Tensor) -> Tensor:
    """Outer products (B, De²) of rows of two (B, De)."""
    return (left.unsqueeze(2) * right.unsqueeze(1)).flatten(1)


def same_dim(name: str, entity_dim: int, relation_dim: int) -> None:
    """Refuse different dimensions.

    Raises:
        ConfigError: the decoder ``name`` needs ``relation_dim`` equal to ``entity_dim``.
    """
    if entity_dim != relation_dim:
        raise ConfigError(
            f"model.relation_dim is {relation_dim} and model.entity_dim {entity_dim}: "
            f"{name} needs them equal"
        )
