"""Decoders and encoders by name."""

from dataclasses import replace

import pytest

from dglkgmix.config import ModelConfig
from dglkgmix.config.classes import DECODERS
from dglkgmix.errors import ConfigError
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.models.conve import ConvE
from dglkgmix.models.registry import (
    build_decoder,
    build_encoder,
    table_dims,
)
from dglkgmix.models.rgcn import RGCN
from dglkgmix.models.transe import TransE
from dglkgmix.models.tucker import TuckER
from tests.settings import settled_model

OPTIONS = settled_model("conve", 12, bases=2)
KG = KnowledgeGraph.from_arrays([(0, 0, 1), (1, 0, 2)])


@pytest.mark.parametrize("name", DECODERS)
def test_table_dims_are_those_of_the_tables(name):
    options = replace(OPTIONS, decoder=name)
    encoder = build_encoder(options, KG, build_decoder(options))
    tables = (encoder.entity_table, encoder.relation_table)
    assert table_dims(options) == tuple(table.shape[1] for table in tables)


def test_options_arrive():
    conve = build_decoder(
        replace(OPTIONS, height=3, filters=7, kernel=2, input_dropout=0.1, feature_dropout=0.15)
    )
    assert isinstance(conve, ConvE)
    assert (conve.geometry.height, conve.geometry.filters, conve.geometry.kernel) == (3, 7, 2)
    assert (conve.input_dropout.p, conve.convolution.dropout.p) == (0.1, 0.15)
    assert conve.hidden_dropout.p == 0.3
    tucker = build_decoder(
        replace(OPTIONS, decoder="tucker", relation_dim=5, hidden_dropout1=0.6, hidden_dropout2=0.7)
    )
    assert isinstance(tucker, TuckER)
    assert tucker.core.shape == (5, 12, 12)
    assert (tucker.matrix_dropout.p, tucker.output_dropout.p) == (0.6, 0.7)
    transe = build_decoder(replace(OPTIONS, decoder="transe", norm=2))
    assert isinstance(transe, TransE)
    assert transe.norm == 2


def test_rgcn_options_arrive():
    options = replace(
        OPTIONS,
        encoder="rgcn",
        layers=2,
        decomposition="block",
        bases=3,
        fanout=4,
        edge_dropout=0.5,
    )
    encoder = build_encoder(options, KG, build_decoder(options))
    assert isinstance(encoder, RGCN)
    assert len(encoder.layers) == 2
    assert (encoder.fanout, encoder.edge_dropout, encoder.dropout.p) == (4, 0.5, 0.2)
    assert encoder.layers[0].matrices.blocks.shape == (2, 3, 4, 4)


def test_refuses_unsettled_options():
    with pytest.raises(ConfigError, match="entity_dim is still 'auto'"):
        build_decoder(ModelConfig())
    with pytest.raises(ConfigError, match="input_dropout is still 'auto'"):
        build_decoder(replace(OPTIONS, input_dropout="auto"))
