"""What a training will need of the machine's memory, said before it starts."""

from __future__ import annotations

import math
import re
import resource
from dataclasses import dataclass
from pathlib import Path

import torch

from dglkgmix.config import Settled
from dglkgmix.config.classes import find
from dglkgmix.errors import ConfigError
from dglkgmix.kernels.partition import KEPT_SCORES
from dglkgmix.kernels.products import CPU_BLOCK, DEVICE_BLOCK
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.models.decoder import Decoder
from dglkgmix.models.registry import build_decoder
from dglkgmix.processes import ALONE, Processes
from dglkgmix.training.stages import Stage, stages

FLOAT = 4
_CPU = torch.device("cpu")
# Weights, gradients, Adam's two moments, the best weights, the last ones where they are better, and
# the rounded ones of an evaluation.
_COPIES = 7
# Scores and what their gradient needs beside them.
_SCORE_COPIES = 2
# The same of decoders whose scores are no products, and are all there at once.
_DENSE_COPIES = 7
# What a query passes through, what dropout keeps of it, and its gradient.
_QUERY_COPIES = 3
# Vectors of the two heads and relations that a synthetic sample mixes, the mix and its gradient.
_MIX_COPIES = 4
# Bytes of a synthetic sample while an epoch's are drawn: pairs of ids, drawn and in order, and λ.
_DRAWN = 64
# An evaluation holds scores, a verdict on each and a scratch of the same size.
_BLOCK_COPIES = 3
# Files of a control group that say its limit, what is used and, in memory.stat, what of it may go.
_V2 = ("memory.max", "memory.current", "inactive_file")
_V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
# Scores an evaluation needs at the very least to make headway.
SMALLEST_BLOCK = 2**20


@dataclass(frozen=True)
class Part:
    """A share of the memory, and the option that makes it smaller.

    Attributes:
        size: bytes.
        what: what takes it, for people.
        advice: which option to change.
    """

    size: int
    what: str
    advice: str


def check_memory(
    config: Settled, kg: KnowledgeGraph, device: torch.device, processes: Processes = ALONE
) -> None:
    """Refuse a training that cannot fit, unless ``runtime.check_memory`` is off.

    Args:
        config: settled.
        kg: the graph, in memory already.
        device: where the model will be.
        processes: those that share the batches; each holds the whole model.

    Raises:
        ConfigError: the estimate, what there is, the largest part and the option to change.
    """
    if not config.runtime.check_memory:
        return
    available = _available_to_each(device, processes.neighbours)
    for stage in stages(config):
        parts = estimate(stage, kg, processes.size, device)
        needed = sum(part.size for part in parts)
        if available is not None and needed > available:
            largest = max(parts, key=lambda part: part.size)
            raise ConfigError(
                f"stage {stage.name!r} needs about {gib(needed)} of memory"
                f"{' in each process' * (processes.size > 1)} and {gib(available)} "
                f"are available; {gib(largest.size)} of it for {largest.what}: {largest.advice}; "
                "--set runtime.check_memory=false trains all the same"
            )


def estimate(
    stage: Stage, kg: KnowledgeGraph, processes: int = 1, device: torch.device = _CPU
) -> list[Part]:
    """The large parts of a stage's peak memory in each process; E, M, De and B as everywhere."""
    model = stage.model
    with torch.device("meta"):  # In sizes alone.
        decoder = build_decoder(model)
    vectors = find("encoder", model.encoder).vectors_held(model, kg)
    encoder = Part(
        FLOAT * vectors * model.entity_dim,
        f"{vectors:,} vectors in the encoder's layers",
        "set model.entity_dim lower, model.layers to 1, or model.fanout to sample neighbours",
    )
    parts = [_weights(stage, kg, decoder), _batch(stage, kg, decoder, device, processes), encoder]
    drawn = find("strategy", stage.strategy.name).samples_of_epoch(kg, stage.strategy)
    if drawn:
        partners = Part(
            _DRAWN * drawn,
            f"mixing partners of an epoch, {drawn:,} pairs",
            "set strategy.partners or strategy.threshold lower",
        )
        parts += [_mixed(stage, kg, decoder, drawn, processes), partners]
    return parts


def fitting_block(block: int, device: torch.device, processes: int = 1) -> int:
    """The largest number of scores, at most ``block``, that fits into half of what is free.

    ``processes`` on one machine share its memory.
    """
    available = _available_to_each(device, processes)
    if available is None:
        return block
    room = available // 2 // (FLOAT * _BLOCK_COPIES)
    return max(min(block, SMALLEST_BLOCK), min(block, room))


def available_memory(device: torch.device) -> int | None:
    """Bytes that a process may still take on ``device``; None where the system does not tell.

    On the CPU the least that the machine, the control groups above the process and its limit of
    address space (``ulimit -v``) leave.
    """
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    limits = [
        _meminfo(Path("/proc/meminfo")),
        _address_space(),
        *_control_groups(Path("/proc/self/cgroup"), Path("/sys/fs/cgroup")),
    ]
    return min((limit for limit in limits if limit is not None), default=None)


def _available_to_each(device: torch.device, processes: int) -> int | None:
    """Processes share a machine's memory, but each has a GPU of its own."""
    available = available_memory(device)
    if available is None or device.type != "cpu":
        return available
    return available // processes


def gib(size: int) -> str:
    """Bytes for people."""
    return f"{size / 2**30:,.1f} GiB" if size >= 2**30 // 10 else f"{size / 2**20:,.0f} MiB"


def _weights(stage: Stage, kg: KnowledgeGraph, decoder: Decoder) -> Part:
    entity_dim, relation_dim = decoder.entity_dim, decoder.relation_dim
    tables = kg.num_entities * (entity_dim + 1) + kg.num_query_relations * relation_dim
    weights = tables + sum(p.numel() for p in decoder.parameters())
    copies = _COPIES + 2 * bool(stage.swa.enabled)
    return Part(
        copies * FLOAT * weights,
        f"{copies} copies of {weights:,} weights (gradients, optimiser, best)",
        f"set model.entity_dim below {entity_dim}",
    )


def _batch(
    stage: Stage, kg: KnowledgeGraph, decoder: Decoder, device: torch.device, processes: int
) -> Part:
    training, dim = stage.training, stage.model.entity_dim
    size = training.batch_size
    rows = size * decoder.largest
    copies = _SCORE_COPIES
    if training.regime == "1-n":
        scores, what = size * kg.num_entities, f"{size} x {kg.num_entities:,} scores of a batch"
        if not decoder.is_bilinear:
            copies = _DENSE_COPIES
        elif training.loss != "ce" or scores > KEPT_SCORES:
            # Scores that a loss uses block by block, and forgets.
            scores = min(scores, CPU_BLOCK if device.type == "cpu" else DEVICE_BLOCK)
    else:
        candidates = training.negatives + 1
        scores = size * candidates * dim
        what = f"the vectors of {size} x {candidates} candidates of a batch"
    return Part(
        math.ceil(FLOAT * (copies * scores + _QUERY_COPIES * rows) / processes),
        what,
        f"set training.batch_size (--batch-size) below {size}"
        + (", or --regime 1-k, which scores few entities" if training.regime == "1-n" else ""),
    )


def _mixed(stage: Stage, kg: KnowledgeGraph, decoder: Decoder, drawn: int, processes: int) -> Part:
    """Of an average batch: the samples of its positives, and with softmax all their rivals."""
    training = stage.training
    size = training.batch_size
    units = len(kg.train_index.heads) if training.regime == "1-n" else kg.num_edges
    samples = math.ceil(size * drawn / units)
    rivals = 1
    if training.loss == "ce":
        rivals = training.negatives + 1
        if training.regime == "1-n":
            given = stage.strategy.rivals
            rivals = kg.num_entities if given == "all" else min(kg.num_entities, samples + given)
    # A candidate's vector is held where its score is no product.
    each = 1 if decoder.is_bilinear or training.regime == "1-n" else decoder.entity_dim
    dims = decoder.entity_dim + decoder.relation_dim
    vectors = _MIX_COPIES * dims + _QUERY_COPIES * decoder.largest
    return Part(
        math.ceil(FLOAT * samples * (vectors + _SCORE_COPIES * rivals * each) / processes),
        f"{samples:,} synthetic samples of a batch, {rivals:,} scores each",
        f"set training.batch_size (--batch-size) below {size}, or strategy.draws to 1",
    )


def _meminfo(path: Path) -> int | None:
    try:
        found = re.search(r"^MemAvailable:\s+(\d+) kB", path.read_text(), re.MULTILINE)
    except OSError:
        return None
    return int(found[1]) * 1024 if found else None


def _address_space() -> int | None:
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return None
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return None
    return max(0, limit - pages * resource.getpagesize())


def _control_groups(membership: Path, root: Path) -> list[int | None]:
    """What each memory limit above the process leaves, from its own group up to the root."""
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        return []
    found = []
    for line in lines:
        _, controllers, name = line.split(":", 2)
        if not controllers:
            top, files = root, _V2
        elif "memory" in controllers.split(","):
            top, files = root / "memory", _V1
        else:
            continue
        own = top / name.lstrip("/")
        groups = [own, *own.parents]
        found += [_group_leaves(group, files) for group in groups[: groups.index(top) + 1]]
    return found


def _group_leaves(group: Path, files: tuple[str, str, str]) -> int | None:
    """Files that may be dropped from memory count as free."""
    limit, used, cache = files
    try:
        most = (group / limit).read_text().strip()
        taken = int((group / used).read_text())
        stat = (group / "memory.stat").read_text()
    except (OSError, ValueError):
        return None
    if most == "max":
        return None
    dropped = re.search(rf"^{cache} (\d+)", stat, re.MULTILINE)
    return max(0, int(most) - taken + (int(dropped[1]) if dropped else 0))
