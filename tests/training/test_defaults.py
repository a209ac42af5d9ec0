import dataclasses

import pytest
import torch

from dglkgmix.config import Config
from dglkgmix.config.toml import apply_overrides
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.models.conve import ConvE
from dglkgmix.models.transe import TransE
from dglkgmix.training import defaults
from dglkgmix.training.defaults import resolve


def unsettled(config):
    return {
        f"{table.name}.{option.name}"
        for table in dataclasses.fields(config)
        for option in dataclasses.fields(getattr(config, table.name))
        if getattr(getattr(config, table.name), option.name) in ("auto", "same")
    }


@pytest.mark.parametrize("decoder", ["conve", "tucker", "distmult", "complex", "rescal", "transe"])
def test_nothing_is_left_open_but_what_nobody_reads(graph, decoder):
    config = apply_overrides(Config(), [f"model.decoder={decoder}"])
    found = unsettled(resolve(config, graph))
    reading = {"data.delimiter", "data.format", "model.init_scale", "runtime.save_every"}
    assert found == (reading if decoder == "conve" else reading | {"model.height"})


@pytest.mark.parametrize(
    ("overrides", "main", "first"),
    [
        ([], 1.0, 1.0),
        (["training.schedule=plateau"], 0.5, 0.5),
        (["training.schedule=plateau", "pretrain.schedule=exponential"], 0.5, 1.0),
        (["training.lr_decay=0.9", "pretrain.schedule=plateau"], 0.9, 0.9),
    ],
)
def test_the_decay_follows_the_schedule(graph, overrides, main, first):
    config = resolve(apply_overrides(Config(), overrides), graph)
    assert (config.training.lr_decay, config.pretrain.lr_decay) == (main, first)


def test_resolving_twice_changes_nothing(graph):
    config = apply_overrides(Config(), ["strategy.name=mixup", "training.regime=1-k"])
    once = resolve(config, graph)
    assert resolve(once, graph) == once


def test_mixup_is_pretrained_and_averaged_and_the_others_are_not(graph):
    for name in ("standard", "mixup", "oversample", "focal"):
        config = resolve(apply_overrides(Config(), [f"strategy.name={name}"]), graph)
        assert config.pretrain.enabled == config.swa.enabled == (name == "mixup")
    chosen = ["strategy.name=mixup", "pretrain.enabled=false", "swa.enabled=false"]
    config = resolve(apply_overrides(Config(), chosen), graph)
    assert not config.pretrain.enabled
    assert not config.swa.enabled
    given = resolve(apply_overrides(Config(), ["pretrain.run=elsewhere"]), graph)
    assert given.pretrain.enabled is True


@pytest.mark.parametrize(
    ("overrides", "weight"),
    [
        ((), 0.1),
        (("strategy.synthetic_weight=1",), 1.0),
        (("model.decoder=conve",), 1.0),
        (("training.loss=bce",), 1.0),
        (("training.regime=1-k",), 1.0),
    ],
)
def test_mixed_samples_weigh_a_tenth_beside_a_softmax_over_all(graph, overrides, weight):
    config = apply_overrides(Config(), ["strategy.name=mixup", *overrides])
    assert resolve(config, graph).strategy.synthetic_weight == weight


def test_a_training_with_a_parent_has_one_stage_and_a_quarter_of_the_epochs(graph):
    mixed = ["strategy.name=mixup", "training.parent=elsewhere"]
    config = resolve(apply_overrides(Config(), mixed), graph)
    assert config.pretrain.enabled is False
    usual = resolve(apply_overrides(Config(), mixed[:1]), graph)
    assert config.training.epochs == -(-usual.training.epochs // 4)


def test_same_is_the_main_stages_value_and_auto_is_settled_for_the_regime(graph):
    options = [
        *("training.regime=1-k", "training.lr=0.5", "training.epochs=7"),
        "model.input_dropout=0.1",
    ]
    config = resolve(apply_overrides(Config(), options), graph)
    assert (config.pretrain.lr, config.pretrain.epochs) == (0.5, 7)
    assert config.pretrain.input_dropout == 0.1
    assert config.pretrain.regime == "1-n"
    queries = len(graph.train_index.heads)
    assert config.pretrain.batch_size <= queries
    own = resolve(apply_overrides(Config(), [*options, "pretrain.epochs=3"]), graph)
    assert (own.training.epochs, own.pretrain.epochs) == (7, 3)


def test_the_bias_is_on_for_conve_and_tucker(graph):
    found = {
        decoder: resolve(apply_overrides(Config(), [f"model.decoder={decoder}"]), graph).model.bias
        for decoder in ("conve", "tucker", "distmult", "complex", "rescal", "transe")
    }
    assert [name for name, bias in found.items() if bias] == ["conve", "tucker"]


def test_conves_height_is_twice_its_width_or_nearest(graph):
    for dim, height in ((200, 20), (72, 12), (128, 16), (50, 10)):
        config = apply_overrides(Config(), ["model.decoder=conve", f"model.entity_dim={dim}"])
        assert resolve(config, graph).model.height == height


def test_mass_is_the_smoothing_and_negatives_stay_below_the_entities(graph):
    config = resolve(apply_overrides(Config(), ["training.label_smoothing=0.2"]), graph)
    assert config.training.smoothing_mass == 0.2
    assert config.training.negatives == 19
    wide = KnowledgeGraph.from_arrays(graph.train, entities=500, relations=2)
    assert resolve(Config(), wide).training.negatives == 100


def test_the_machine_is_recorded(graph):
    runtime = resolve(Config(), graph).runtime
    assert runtime.device == ("cuda" if torch.cuda.is_available() else "cpu")
    assert runtime.precision in ("fp32", "bf16")
    assert runtime.threads == torch.get_num_threads()


@pytest.mark.parametrize("edges", [2, 60, 8_578, 65_776, 371_168, 544_230, 40_000_000])
def test_sizes_follow_the_graph_within_bounds(edges):
    for decoder, most in ((ConvE, 500), (TransE, 100)):
        assert 20 <= defaults.epochs(edges, decoder) <= most
        assert defaults.epochs(edges, decoder) >= defaults.epochs(2 * edges, decoder)
    for softmax, largest in ((False, 200), (True, 512)):
        dims = [defaults.entity_dim(size, 9, softmax=softmax) for size in (edges, 2 * edges)]
        assert dims[0] <= dims[1] <= largest
    assert defaults.entity_dim(edges, 10**6, softmax=True) == 256
    assert 1 <= defaults.validate_every(edges) <= 5
    rates = [defaults.learning_rate("adam", size, ConvE) for size in (edges, 2 * edges)]
    assert rates[0] >= rates[1]
    assert defaults.learning_rate("adam", edges, TransE) == 0.003
    for regime in ("1-n", "1-k"):
        for whole_graph in (False, True):
            assert 1 <= defaults.batch_size(regime, whole_graph, edges) <= edges


def test_batches_of_a_full_graph_encoder_are_few_and_bounded():
    """CoDEx-S's 11,867 queries make 24 batches; FB15k-237's would not fit by the same rule."""
    assert defaults.batch_size("1-n", True, 11_867) == 512
    assert defaults.batch_size("1-n", True, 149_689) == 2048
    assert defaults.batch_size("1-k", True, 544_230) == 4096
    assert defaults.batch_size("1-n", True, 100) == 100


SOFTMAX = ("ce", "adagrad", 0.1, 0.0, 0.05, 0.0, 256)
PAPER = ("bce", "adam", 0.003, 0.1, 0.0, 0.2, 72)


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ([], SOFTMAX),
        (["training.n3=0.3"], ("ce", "adagrad", 0.1, 0.0, 0.3, 0.0, 256)),
        (["model.decoder=conve"], PAPER),
        (
            ["model.decoder=conve", "training.optimizer=adagrad"],
            ("bce", "adagrad", 0.01, *PAPER[3:]),
        ),
    ],
)
def test_bilinear_decoders_have_defaults_of_their_own(graph, overrides, expected):
    """Loss, optimiser, rate, smoothing, N3, dropout and dimension; the same in a first stage.

    Which settings have which of them is tested with ``config.base``.
    """
    config = resolve(apply_overrides(Config(), overrides), graph)
    for stage in (config.training, config.pretrain):
        dropout = getattr(stage, "input_dropout", config.model.input_dropout)
        found = (stage.loss, stage.optimizer, stage.lr, stage.label_smoothing, stage.n3, dropout)
        assert (*found, config.model.entity_dim) == expected


def test_a_graph_of_many_edges_takes_longer_vectors_and_a_smaller_penalty():
    assert (defaults.n3(49_999, 9_999), defaults.n3(50_000, 9_999)) == (0.05, 0.02)
    assert (defaults.n3(6_000, 100), defaults.n3(6_001, 100)) == (0.05, 0.005)
    dims = [defaults.entity_dim(size, 9, softmax=True) for size in (49_999, 50_000)]
    assert dims == [256, 512]
