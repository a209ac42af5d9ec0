from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from dglkgmix.errors import ConfigError
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.training import memory
from dglkgmix.training.config import Config
from dglkgmix.training.defaults import resolve
from dglkgmix.training.memory import available_memory, check_memory, estimate, fitting_block, gib
from dglkgmix.training.stages import stages
from dglkgmix.world import World

from .conftest import settings

CPU = torch.device("cpu")
HUGE = SimpleNamespace(
    num_entities=1_000_000,
    num_query_relations=200,
    train_index=SimpleNamespace(heads=torch.empty(3_000_000, device="meta")),
)


def settled(graph: KnowledgeGraph, *overrides: str) -> Config:
    return resolve(settings(*overrides), graph)


def test_weights_scores_and_candidates_are_counted(graph: KnowledgeGraph) -> None:
    config = settled(graph, "model.decoder=distmult", "training.batch_size=16")
    weights, batch, encoder = estimate(stages(config)[0], HUGE)
    tables = 1_000_000 * 9 + 200 * 8
    assert weights.size == 6 * 4 * tables
    assert batch.size == pytest.approx(2 * 4 * 16 * 1_000_000, rel=0.01)
    assert encoder.size == 0
    config = settled(graph, "model.decoder=distmult", "training.regime=1-k")
    assert estimate(stages(config)[0], HUGE)[1].size < 100_000


def test_a_relation_of_rescal_is_a_matrix(graph: KnowledgeGraph) -> None:
    weights = estimate(stages(settled(graph, "model.decoder=rescal"))[0], HUGE)[0]
    assert weights.size == 6 * 4 * (1_000_000 * 9 + 200 * 64)


@pytest.mark.parametrize(
    ("decoder", "largest"),
    [
        ("conve", 3 * 7 * 1),  # three filters of 2 x 2 over the stack of two pictures of 4 x 2
        ("tucker", 8 * 8),
        ("rescal", 8 * 8),
        ("distmult", 8),
        ("complex", 8),
        ("transe", 8),
    ],
)
def test_each_decoder_says_what_a_query_costs(
    graph: KnowledgeGraph, decoder: str, largest: int
) -> None:
    options = (f"model.decoder={decoder}", "model.filters=3", "model.kernel=2")
    batch = estimate(stages(settled(graph, *options, "training.batch_size=16"))[0], HUGE)[1]
    assert batch.size == 4 * (2 * 16 * 1_000_000 + 3 * 16 * largest)


def test_an_encoder_costs_its_layers(graph: KnowledgeGraph) -> None:
    config = settled(graph, "model.encoder=rgcn", "model.layers=2")
    assert estimate(stages(config)[0], HUGE)[2].size == 4 * 6 * 2 * 4_000_000 * 8


@pytest.mark.parametrize(
    ("overrides", "advice"),
    [
        (["training.batch_size=100"], "training.batch_size"),
        (["training.regime=1-k", "training.batch_size=10"], "set model.entity_dim below 8"),
        (["training.regime=1-k", "model.encoder=rgcn", "model.layers=3"], "model.fanout"),
    ],
)
def test_what_cannot_fit_says_so_with_numbers_and_the_option(
    graph: KnowledgeGraph, monkeypatch: pytest.MonkeyPatch, overrides: list[str], advice: str
) -> None:
    config = settled(graph, "model.decoder=distmult", *overrides)
    needed = sum(part.size for part in estimate(stages(config)[0], HUGE))
    monkeypatch.setattr(memory, "available_memory", lambda _: needed)
    check_memory(config, HUGE, CPU)
    monkeypatch.setattr(memory, "available_memory", lambda _: needed - 1)
    with pytest.raises(ConfigError, match=rf"'train' needs about .*iB of memory .*{advice}"):
        check_memory(config, HUGE, CPU)
    monkeypatch.setattr(memory, "available_memory", lambda _: None)
    check_memory(config, HUGE, CPU)


def test_blocks_shrink_to_half_of_what_is_free_and_no_further(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(memory, "available_memory", lambda _: 24 * 4_000_000)
    assert fitting_block(2**24, CPU) == 4_000_000
    assert fitting_block(1000, CPU) == 1000
    monkeypatch.setattr(memory, "available_memory", lambda _: 0)
    assert fitting_block(2**24, CPU) == 2**20
    assert fitting_block(1000, CPU) == 1000
    monkeypatch.setattr(memory, "available_memory", lambda _: None)
    assert fitting_block(2**24, CPU) == 2**24


def test_the_tighter_of_machine_and_container_counts(tmp_path) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal: 9 kB\nMemAvailable:   2048 kB\n")
    assert memory._meminfo(meminfo) == 2048 * 1024
    assert memory._meminfo(tmp_path / "missing") is None
    (tmp_path / "memory.max").write_text("1000\n")
    (tmp_path / "memory.current").write_text("700\n")
    (tmp_path / "memory.stat").write_text("anon 5\ninactive_file 100\n")
    assert memory._cgroup(tmp_path) == 400
    (tmp_path / "memory.max").write_text("max\n")
    assert memory._cgroup(tmp_path) is None
    assert memory._cgroup(tmp_path / "missing") is None


def test_this_machine_tells() -> None:
    available = available_memory(CPU)
    assert available is not None
    assert available > 2**20


def test_sizes_read_well() -> None:
    assert gib(3 * 2**30) == "3.0 GiB"
    assert gib(5 * 2**20) == "5 MiB"


def test_processes_share_the_batch_and_a_machines_memory(
    graph: KnowledgeGraph, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = settled(graph)
    (stage,) = stages(config)
    weights, batch, _ = estimate(stage, HUGE)
    own = estimate(stage, HUGE, 4)
    assert own[0] == weights
    assert own[1].size == batch.size / 4
    needed = sum(part.size for part in own)
    four = World(0, 4, neighbours=4)
    monkeypatch.setattr(memory, "available_memory", lambda _: 4 * needed)
    check_memory(config, HUGE, CPU, four)
    monkeypatch.setattr(memory, "available_memory", lambda _: 4 * needed - 1)
    with pytest.raises(ConfigError, match="of memory in each process and"):
        check_memory(config, HUGE, CPU, four)
    monkeypatch.setattr(memory, "available_memory", lambda _: 24 * 4_000_000)
    assert fitting_block(2**24, CPU, 2) == 2_000_000
