"""Decoders and encoders from the options that name them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from dglkgmix.config import ModelConfig
from dglkgmix.config.classes import find, parameters
from dglkgmix.errors import ConfigError, DglkgmixError
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
    decoder: Decoder = _built("decoder", options.decoder, options)
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
        "encoder",
        options.encoder,
        options,
        kg=kg,
        entities=kg.num_entities,
        relations=kg.num_query_relations,
        entity_dim=decoder.entity_dim,
        relation_dim=decoder.relation_dim,
    )
    return encoder


def _built(kind: str, name: str, options: ModelConfig, **given: Any) -> Any:
    """An object of the class, each parameter taken from ``given`` or the option of its name."""
    cls = find(kind, name)
    values = {key: given[key] if key in given else getattr(options, key) for key in parameters(cls)}
    try:
        return cls(**values)
    except DglkgmixError:
        raise
    except Exception as error:
        if ":" not in name:
            raise
        what = f"{type(error).__name__}: {error}"
        raise ConfigError(f"model.{kind} {name} cannot be made: {what}") from error
