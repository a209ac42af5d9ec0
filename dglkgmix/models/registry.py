"""Decoders and encoders from the options that name them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from dglkgmix.config import ModelConfig
from dglkgmix.config.classes import find, parameters
from dglkgmix.errors import ConfigError
from dglkgmix.models.decoder import Decoder
from dglkgmix.models.encoder import Encoder

if TYPE_CHECKING:
    from dglkgmix.kg.graph import KnowledgeGraph


def build_decoder(options: ModelConfig) -> Decoder:
    """The decoder that ``options`` name, with nothing left at "auto".

    Raises:
        ConfigError: an unknown name, an option at "auto", or a geometry that does not fit.
    """
    for name in ("entity_dim", "relation_dim", "input_dropout"):
        if getattr(options, name) == "auto":
            raise ConfigError(f"model.{name} is still 'auto': resolve the configuration first")
    decoder: Decoder = _built(find("decoder", options.decoder), options)
    return decoder


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
    encoder: Encoder = _built(
        find("encoder", options.encoder),
        options,
        kg=kg,
        entities=kg.num_entities,
        relations=kg.num_query_relations,
        entity_dim=decoder.entity_dim,
        relation_dim=decoder.relation_dim,
    )
    return encoder


def _built(cls: type, options: ModelConfig, **given: Any) -> Any:
    """An object of ``cls``, each parameter taken from ``given`` or the option of its name."""
    names = parameters(cls)
    return cls(**{name: given[name] if name in given else getattr(options, name) for name in names})
