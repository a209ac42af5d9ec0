"""The epochs of one stage: batches in, weights changed, a row of history out."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor
from typing_extensions import Never

from dglkgmix.allocator import keep_few_products
from dglkgmix.config import RuntimeConfig
from dglkgmix.config.classes import find
from dglkgmix.config.goal import MRR, goal_parts
from dglkgmix.errors import ConfigError, NumericError
from dglkgmix.evaluation.candidates import Candidates
from dglkgmix.evaluation.model_scorer import ModelScorer
from dglkgmix.evaluation.queries import EvalQueries, evaluation_queries
from dglkgmix.evaluation.ranking import rank
from dglkgmix.kernels.batch_norm import average_statistics
from dglkgmix.kg.degrees import DegreeBins
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.models.link_predictor import LinkPredictor
from dglkgmix.processes import ALONE, Processes
from dglkgmix.runs.history import Row
from dglkgmix.runs.results import Selection, Validation
from dglkgmix.sampling.negatives import TripleBatch, TripleBatches
from dglkgmix.sampling.queries import QueryBatch, QueryBatches
from dglkgmix.sampling.seeds import derive
from dglkgmix.strategies import Strategy
from dglkgmix.training.batch_loss import batch_loss
from dglkgmix.training.epoch_meter import ADVICE, EpochMeter
from dglkgmix.training.optimizer import clip_gradients
from dglkgmix.training.parallel import add_up, count_together
from dglkgmix.training.prepared import prepare
from dglkgmix.training.progress import Progress
from dglkgmix.training.stage_state import StageState

Batch = QueryBatch | TripleBatch
# Batches whose losses are read from a GPU at once.
_READ_TOGETHER = 32
# Where nothing is clipped, the gradient's norm is a figure of the history alone, and costs a pass
# over all gradients: it is taken of one batch in so many.
_NORM_EVERY = 10


class StageLoop:
    """Runs one stage's epochs on its state.

    Whatever an epoch draws follows from (``seed``, epoch), so nothing but PyTorch's global
    generator, which dropout draws from, runs on from epoch to epoch; of several processes each
    begins every epoch with a generator of its own.

    Several processes share an epoch's queries or triples; a batch is what all of them draw for
    one step. Losses and gradients are its sums; batch norm sees the rows of its process alone.
    """

    def __init__(
        self,
        kg: KnowledgeGraph,
        work: StageState,
        runtime: RuntimeConfig[Never],
        *,
        seed: int,
        progress: Progress,
        weights: Tensor | None = None,
        processes: Processes = ALONE,
    ) -> None:
        self.kg, self.work, self._runtime, self._seed = kg, work, runtime, seed
        self._progress, self._processes = progress, processes
        stage = work.stage
        found = find("strategy", stage.strategy.name)
        self.strategy: Strategy = found(kg, stage.strategy, stage.training)
        self._weights = weights
        self._size = math.ceil(stage.training.batch_size / processes.size)
        self._batches: QueryBatches | TripleBatches = (
            QueryBatches(kg, self._size)
            if stage.training.regime == "1-n"
            else TripleBatches(
                kg,
                self._size,
                stage.training.negatives,
                filtered=stage.training.filtered,
                by_query=stage.training.group_queries,
            )
        )
        self._device = torch.device(runtime.device)
        if runtime.precision == "bf16":
            keep_few_products()
        self._valid = evaluation_queries(kg, "valid")
        self._goal: Tensor | None = None
        if stage.training.select != MRR and len(self._valid):
            self._goal = goal_weights(stage.training.select, kg, self._valid)

    def __len__(self) -> int:
        """Batches of an epoch."""
        rows = self.kg.num_edges + self.strategy.extra_triples
        if isinstance(self._batches, QueryBatches):
            rows = len(self.kg.train_index.heads)
        return math.ceil(rows / (self._size * self._processes.size))

    def epoch(self) -> Row:
        """Train one epoch, average where due and validate where due."""
        work, stage, processes = self.work, self.work.stage, self._processes
        model, training, epoch = work.model, stage.training, work.epoch + 1
        interval = 1 if self._device.type == "cpu" else _READ_TOGETHER
        meter = EpochMeter(stage.name, epoch, work.lr, interval=interval)
        model.train()
        processes.reseed(derive(self._seed, "dropout", epoch))
        norm = torch.zeros(())
        for number, batch in enumerate(self.draw(epoch)):
            item = prepare(batch, self.strategy, training, self.kg.num_entities, self._weights)
            item = count_together(item, processes)
            nodes = item.nodes() if model.encoder.fanout else None
            with torch.autocast(
                self._device.type, torch.bfloat16, enabled=self._runtime.precision == "bf16"
            ):
                vectors = model.encode(hidden_edges=item.hidden_edges, nodes=nodes)
                terms = batch_loss(model, vectors, item.to(self._device), self.strategy, training)
            work.optimizer.zero_grad(set_to_none=True)
            terms.loss.backward()  # type: ignore[no-untyped-call]
            terms = add_up(terms, model, processes)
            if training.clip or number % _NORM_EVERY == 0:
                norm = clip_gradients(model.parameters(), training.clip)
            work.optimizer.step()
            meter.add(terms, norm)
            self._progress.batch(terms.positives + terms.synthetic_samples)
            del item, vectors, terms  # Before the next batch takes their memory again.
        meter.finish()
        average_statistics(model, processes)
        work.end_epoch()
        valid = None
        if len(self._valid) and epoch % training.validate_every == 0 and work.has_news:
            valid = self._validation()
            work.record(valid.goal)
        return meter.row(valid=valid, averaged=work.averaging.count)

    def select(self) -> Selection:
        """The stage's result.

        The model of the last epoch competes, too, where the schedule passed it over; the state
        stays as the schedule made it, so that a longer training can go on from it.
        """
        if not self.work.has_news:
            return self.work.select(None)
        if len(self._valid):
            return self.work.select(self._validation())
        self._refresh()
        return self.work.select(None)

    def draw(self, epoch: int) -> Iterator[Batch]:
        """This process's part of the batches of ``epoch``."""
        self.strategy.start_epoch(epoch, self._seed)
        rows = self.strategy.epoch_edges()
        if isinstance(self._batches, QueryBatches):
            rows = torch.arange(len(self.kg.train_index.heads))
        elif rows is None:
            rows = torch.arange(self.kg.num_edges)
        seed = derive(self._seed, "batches", epoch)
        own = self._processes.share(rows, seed)
        generator = torch.Generator().manual_seed(self._processes.seed(seed))
        return iter(self._batches.epoch(generator, own))

    def _validation(self) -> Validation:
        """Of the candidate, over both directions of the validation split.

        Raises:
            NumericError: a score is not finite, naming stage and epoch.
        """
        self._refresh()
        work, block, processes = self.work, self._runtime.block, self._processes
        try:
            found = reciprocal_ranks(work.candidate, self.kg, self._valid, block, processes)
        except NumericError as error:
            raise NumericError(
                f"the validation after epoch {work.epoch} of stage {work.stage.name!r} failed: "
                f"{error} Then {ADVICE}"
            ) from None
        mrr = float(found.mean())
        goal = mrr if self._goal is None else float(found @ self._goal)
        return processes.gathered(Validation(mrr, goal))[0]

    def _refresh(self) -> None:
        """Recompute the batch-norm statistics of the average, where there is one."""
        if self.work.averaging.count:
            self._processes.reseed(derive(self._seed, "batch norm", self.work.epoch))
            self.work.averaging.refresh(self._training_queries())
            average_statistics(self.work.averaging.model, self._processes)

    def _training_queries(self) -> Iterator[Tensor]:
        """(2, B) heads over relations of this process's part of what the stage trains on, shuffled.

        In a fixed order, batches would hold neighbours and their variance would be too small.
        """
        training = self.work.stage.training
        index = self.kg.train_index
        queries = torch.stack([index.heads, index.relations])
        if training.regime == "1-k" and not training.group_queries:
            queries = self.kg.edges[:, :2].T
        seed = derive(self._seed, "batch norm")
        generator = torch.Generator().manual_seed(seed)
        order = torch.randperm(queries.shape[1], generator=generator)
        for rows in torch.split(self._processes.share(order, seed), self._size):
            yield queries[:, rows].to(self._device)


def reciprocal_ranks(
    model: LinkPredictor,
    kg: KnowledgeGraph,
    queries: EvalQueries,
    block: int,
    processes: Processes = ALONE,
) -> Tensor:
    """1/rank (Q,), float64, of queries that ``processes`` share.

    Ranks are filtered by train and valid alone: test triples must not steer a training.
    """
    scorer, known = ModelScorer(model), kg.steering_index
    among = Candidates.of(kg)
    ranks = rank(scorer, queries, known, block=block, candidates=among, processes=processes)
    return ranks.rank.reciprocal()


def goal_weights(select: str, kg: KnowledgeGraph, queries: EvalQueries) -> Tensor:
    """(Q,) float64: the goal is the sum over queries of weight / rank.

    Raises:
        ConfigError: as :func:`goal_parts`, and where no query falls into a bin.
    """
    bins = DegreeBins()
    groups = bins.assign(kg.degrees.tail_relation(queries.answers, queries.relations))
    weights = torch.zeros(len(queries), dtype=torch.float64)
    for name, share in goal_parts(select).items():
        inside = groups >= 0 if name == MRR else groups == bins.names.index(name)
        if not inside.any():
            raise ConfigError(
                f"training.select {select!r}: no validation query falls into {name!r}: "
                "select by another bin or by mrr"
            )
        weights[inside] += share / int(inside.sum())
    return weights
