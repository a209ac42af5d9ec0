"""Decoders and encoders by name, and how each reads its options."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import torch

from dglkgmix.errors import ConfigError
from dglkgmix.models.complex import ComplEx
from dglkgmix.models.conve import ConvE
from dglkgmix.models.decoder import Decoder
from dglkgmix.models.distmult import DistMult
from dglkgmix.models.encoder import Encoder
from dglkgmix.models.lookup import Lookup
from dglkgmix.models.rescal import RESCAL
from dglkgmix.models.rgcn import RGCN
from dglkgmix.models.transe import TransE
from dglkgmix.models.tucker import TuckER
from dglkgmix.training.config import Auto, ModelConfig

if TYPE_CHECKING:
    from dglkgmix.kg.graph import KnowledgeGraph

DECODERS: dict[str, type[Decoder]] = {
    "conve": ConvE,
    "tucker": TuckER,
    "distmult": DistMult,
    "complex": ComplEx,
    "rescal": RESCAL,
    "transe": TransE,
}
ENCODERS: dict[str, type[Encoder]] = {"lookup": Lookup, "rgcn": RGCN}


def build_decoder(options: ModelConfig) -> Decoder:
    """The decoder that ``options`` name, with nothing left at "auto".

    Raises:
        ConfigError: an unknown name, an option at "auto", or a geometry that does not fit.
    """
    build = _BUILDERS.get(options.decoder)
    if build is None:
        raise ConfigError(f"model.decoder is {options.decoder!r}: use one of {', '.join(DECODERS)}")
    dims = (
        _settled(options.entity_dim, "entity_dim"),
        _settled(options.relation_dim, "relation_dim"),
    )
    return build(options, *dims)


def table_dims(options: ModelConfig) -> tuple[int, int]:
    """Columns De and Dr of the embedding tables of ``options``, with nothing left at "auto".

    Dr is what the decoder makes of ``relation_dim``: RESCAL's relations are matrices, De² numbers.

    Raises:
        ConfigError: as :func:`build_decoder`.
    """
    with torch.device("meta"):
        decoder = build_decoder(options)
    return decoder.entity_dim, decoder.relation_dim


def build_encoder(options: ModelConfig, kg: KnowledgeGraph, decoder: Decoder) -> Encoder:
    """The encoder that ``options`` name, for the dimensions of ``decoder``.

    Raises:
        ConfigError: an unknown name, or options that do not fit the dimension.
    """
    dims = (decoder.entity_dim, decoder.relation_dim)
    if options.encoder == "lookup":
        return Lookup(kg.num_entities, kg.num_query_relations, *dims)
    if options.encoder == "rgcn":
        return _rgcn(options, kg, *dims)
    raise ConfigError(f"model.encoder is {options.encoder!r}: use one of {', '.join(ENCODERS)}")


def _settled(value: int | Auto, option: str) -> int:
    if value == "auto":
        raise ConfigError(f"model.{option} is still 'auto': resolve the configuration first")
    if value < 1:
        raise ConfigError(f"model.{option} is {value}: it must be at least 1")
    return value


def _rgcn(options: ModelConfig, kg: KnowledgeGraph, entity_dim: int, relation_dim: int) -> Encoder:
    return RGCN(
        kg,
        entity_dim,
        relation_dim,
        layers=options.layers,
        decomposition=options.decomposition,
        bases=options.bases,
        dropout=options.encoder_dropout,
        edge_dropout=options.edge_dropout,
        fanout=options.fanout,
    )


def _conve(options: ModelConfig, entity_dim: int, relation_dim: int) -> Decoder:
    return ConvE(
        entity_dim,
        relation_dim,
        height=options.height,
        filters=options.filters,
        kernel=options.kernel,
        input_dropout=options.input_dropout,
        feature_dropout=options.feature_dropout,
        hidden_dropout=options.hidden_dropout,
    )


def _tucker(options: ModelConfig, entity_dim: int, relation_dim: int) -> Decoder:
    return TuckER(
        entity_dim,
        relation_dim,
        input_dropout=options.input_dropout,
        hidden_dropout1=options.hidden_dropout1,
        hidden_dropout2=options.hidden_dropout2,
    )


def _distmult(options: ModelConfig, entity_dim: int, relation_dim: int) -> Decoder:
    return DistMult(entity_dim, relation_dim, options.input_dropout)


def _complex(options: ModelConfig, entity_dim: int, relation_dim: int) -> Decoder:
    return ComplEx(entity_dim, relation_dim, options.input_dropout)


def _rescal(options: ModelConfig, entity_dim: int, relation_dim: int) -> Decoder:
    return RESCAL(entity_dim, relation_dim, options.input_dropout)


def _transe(options: ModelConfig, entity_dim: int, relation_dim: int) -> Decoder:
    return TransE(entity_dim, relation_dim, options.input_dropout, options.norm)


_BUILDERS: dict[str, Callable[[ModelConfig, int, int], Decoder]] = {
    "conve": _conve,
    "tucker": _tucker,
    "distmult": _distmult,
    "complex": _complex,
    "rescal": _rescal,
    "transe": _transe,
}
