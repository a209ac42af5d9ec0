"""Every option of a training, declared once: type, default with its reason, range, flag and help.

The dataclasses are the tables of ``config.toml``. TOML, validation, the options of
``dglkgmix train``, the parameters of ``KGCompleter``, what is refused as not read, and the page
docs/options.md are loops over these lines. Dataclasses of the standard library, as ``--help`` must
not wait for an import: pydantic and msgspec would check types, which takes twenty lines here.

"auto" is settled from the graph and the machine by :mod:`dglkgmix.training.defaults`; "same" in
``[pretrain]`` is the main stage's value. Every table with such words is generic in them:
``TrainingConfig`` may hold them, ``TrainingConfig[Never]`` is settled and holds values alone.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Generic, Literal

from typing_extensions import TypeVar

from dglkgmix.config import conditions
from dglkgmix.config.classes import Chooser
from dglkgmix.config.option import (
    ABOVE_0,
    AT_LEAST_0,
    AT_LEAST_1,
    BELOW_1,
    SHARE,
    Bounds,
    declared,
    option,
)

Auto = Literal["auto"]
Open = TypeVar("Open", covariant=True, default=Literal["auto", "same"])  # noqa: PLC0105
Regime = Literal["1-n", "1-k"]
LossName = Literal["bce", "ce"]
Optimizer = Literal["adam", "adagrad"]
Reduction = Literal["sum", "mean"]
PredictedRelations = Literal["original", "all"]
Schedule = Literal["constant", "exponential", "plateau", "cosine"]

_DIM = Bounds(lambda x: 1 <= x <= 2**20, "must be 1 or more, and at most 2^20")
_ABOVE_0_TO_1 = Bounds(lambda x: 0 < x <= 1, "must lie in (0, 1]")
_SEED = Bounds(lambda x: 0 <= x < 2**63, "must lie in [0, 2^63)")
_SPLIT_SEED = Bounds(lambda x: 0 <= x < 2**32, "must lie in [0, 2^32)")
_SHARES = Bounds(
    lambda x: x[0] > 0 and min(x) >= 0 and math.isclose(sum(x), 1, abs_tol=1e-6),
    "must be three shares that add up to 1, the first above 0",
)
SPLITTING = ("split", "split_seed", "split_mirrors")
_SIZE = "by graph size"
# Trained with softmax cross-entropy in 1-N, see dglkgmix.config.base.
_BASE = "ComplEx and DistMult"
_CONVE = "ConvE: "
_GCN = "R-GCN, CompGCN: "
_SAME = ("same",)
_BOTH = ("auto", "same")


@dataclass(frozen=True)
class DataConfig:
    """``[data]``: where the triples come from and how they are read."""

    # Kept for the record: a run folder holds its own copy of the triples.
    source: str = option("", "A catalog name, a folder with train, valid and test, or one file.")
    columns: tuple[str, ...] = option(
        (),
        "What the columns hold, in order (_ to ignore one); where they have names, the names of "
        "head, relation and tail.",
        flag="columns",
        auto="head,relation,tail",
    )
    header: bool = option(False, "The first row holds the columns' names.", flag="header")
    delimiter: str = option(
        "auto",
        "What separates fields: a character, tab, comma or space.",
        flag="delimiter",
        auto="by file name",
    )
    format: str = option("auto", "How SOURCE is written.", flag="format", auto="by file name")
    strip: bool = option(False, "Remove white space around every name.", flag="strip")
    normalize: Literal["none", "nfc", "nfkc"] = option(
        "none",
        "Bring names to a Unicode form, so that é is one name however it is composed.",
        flag="normalize",
        auto="names to the letter",
    )
    split: tuple[float, float, float] = option(
        (0.8, 0.1, 0.1),
        "Shares of train, valid and test of one file.",
        flag="shares",
        bounds=_SHARES,
    )
    split_seed: int = option(
        0, "Seed of that split, never the training's.", flag="split_seed", bounds=_SPLIT_SEED
    )
    split_mirrors: Literal["together", "apart"] = option(
        "together", "Whether (h, r, t) and (t, r, h) come into one split.", flag="split_mirrors"
    )

    @property
    def reading(self) -> dict[str, Any]:
        """Keywords of :class:`dglkgmix.kg.options.ReadOptions`; None where nothing is asked for."""
        return {
            "columns": self.columns or None,
            "header": self.header,
            "delimiter": None if self.delimiter == "auto" else self.delimiter,
            "format": None if self.format == "auto" else self.format,
            "strip": self.strip,
            "normalize": None if self.normalize == "none" else self.normalize,
        }

    @property
    def splitting(self) -> dict[str, Any]:
        """Keywords of :func:`dglkgmix.kg.sources.load` for how one file is split."""
        return {name: getattr(self, name) for name in SPLITTING}


@dataclass(frozen=True)
class ModelConfig(Chooser, Generic[Open]):
    """``[model]``: the encoder, the decoder and their geometry.

    ``own`` holds the options that classes of the user's declare, and is given as a dictionary or
    as pairs; each is an attribute, too.
    """

    decoder: str = option("complex", "Decoder.", flag="model", classes="decoder")
    encoder: str = option("lookup", "Encoder in front.", flag="encoder", classes="encoder")
    # 200 in the paper; small graphs cannot fill as much.
    entity_dim: int | Open = option(
        "auto",
        "Dimension of entity vectors.",
        auto=f"72 to 200, {_SIZE}; {_BASE}: 256 or 512",
        bounds=_DIM,
    )
    # TuckER's core is the one that joins two dimensions.
    relation_dim: int | Open = option(
        "auto", "Dimension of relation vectors.", auto="entity_dim", bounds=_DIM
    )
    # The authors of ComplEx-N3 take 1e-3.
    init_scale: float | Auto = option(
        "auto",
        "Tables start as normal numbers times this; vectors of another run stay as they are.",
        auto="the decoder's own start",
        bounds=ABOVE_0,
    )
    bias: bool | Open = option(
        "auto", "Per-entity bias on the scores of real queries.", auto="for ConvE and TuckER"
    )
    height: int | Open = option(
        "auto",
        f"{_CONVE}height of the reshaped vector.",
        auto="twice the width, or nearest to it",
        bounds=AT_LEAST_1,
        of="decoder",
    )
    filters: int = option(32, f"{_CONVE}kernels.", bounds=AT_LEAST_1, of="decoder")
    kernel: int = option(3, f"{_CONVE}side of a kernel.", bounds=AT_LEAST_1, of="decoder")
    input_dropout: float | Open = option(
        "auto",
        "Dropout on the head, or on what goes into the decoder.",
        auto=f"0.2; {_BASE}: 0",
        bounds=BELOW_1,
        of="decoder",
    )
    feature_dropout: float = option(
        0.2, f"{_CONVE}dropout of whole feature maps.", bounds=BELOW_1, of="decoder"
    )
    hidden_dropout: float = option(
        0.3, f"{_CONVE}dropout after the projection.", bounds=BELOW_1, of="decoder"
    )
    hidden_dropout1: float = option(
        0.4, "TuckER: dropout on the contracted core.", bounds=BELOW_1, of="decoder"
    )
    hidden_dropout2: float = option(
        0.5, "TuckER: dropout after the contraction with the head.", bounds=BELOW_1, of="decoder"
    )
    norm: Literal[1, 2] = option(1, "TransE: the norm of the distance.", of="decoder")
    # The authors' on FB15k-237.
    margin: float = option(9.0, "RotatE: γ, from which distances are taken.", of="decoder")
    layers: int = option(1, f"{_GCN}layers.", bounds=AT_LEAST_1, of="encoder")
    decomposition: Literal["basis", "block"] = option(
        "basis", "R-GCN: what a relation's matrix is made of.", of="encoder"
    )
    bases: int = option(
        30, "R-GCN: number of bases or of diagonal blocks.", bounds=AT_LEAST_1, of="encoder"
    )
    composition: Literal["subtract", "multiply", "correlate"] = option(
        "multiply", "CompGCN: how a neighbour and its relation become a message.", of="encoder"
    )
    # Validation MRR on CoDEx-S: .365 with 0.05, .345 with 1, .339 with none, .361 without encoder.
    residual: float | Literal["none"] = option(
        0.05,
        f"{_GCN}s of x + s m(x), a vector and its messages; none: W x + m(x), as in the papers.",
        bounds=ABOVE_0,
        of="encoder",
    )
    encoder_dropout: float = option(
        0.2, f"{_GCN}dropout on the input of each layer.", bounds=BELOW_1, of="encoder"
    )
    # What stays of a batch's own edges would let the encoder read the answer.
    edge_dropout: float = option(
        1.0,
        f"{_GCN}share of a batch's own edges, with their reciprocals, hidden from messages.",
        bounds=SHARE,
        of="encoder",
    )
    fanout: int = option(
        0,
        f"{_GCN}neighbours drawn for each node and layer; 0 takes all.",
        bounds=AT_LEAST_0,
        of="encoder",
    )
    own: Any = ()


@dataclass(frozen=True)
class TrainingConfig(Generic[Open]):
    """``[training]``: the main stage's loop and loss."""

    regime: Regime = option(
        "1-n", "Score against all entities (1-n) or sampled negatives (1-k).", flag="regime"
    )
    # Early stopping ends most trainings before.
    epochs: int | Open = option(
        "auto",
        "Maximum number of epochs of each stage.",
        flag="epochs",
        auto=_SIZE,
        bounds=AT_LEAST_1,
    )
    batch_size: int | Open = option(
        "auto",
        "Queries (1-n) or triples (1-k) of a batch.",
        flag="batch_size",
        auto=_SIZE,
        bounds=AT_LEAST_1,
    )
    # Adam's own 0.001, three times that on small graphs, whose epochs have few steps.
    lr: float | Open = option(
        "auto",
        "Learning rate.",
        flag="lr",
        auto=f"Adam: 0.003 below 25,000 training triples and for TransE, else 0.001; Adagrad: "
        f"0.01, {_BASE}: 0.1",
        bounds=ABOVE_0,
    )
    schedule: Schedule = option(
        "exponential",
        "exponential: times lr_decay each epoch; plateau: after lr_patience validations without a "
        "new best; cosine: down to 0 in the last of all epochs.",
    )
    lr_decay: float | Open = option(
        "auto",
        "Factor of the learning rate.",
        auto="1; 0.5 on a plateau",
        bounds=_ABOVE_0_TO_1,
        unread=conditions.without_schedule("exponential", "plateau"),
    )
    lr_patience: int = option(
        3,
        "Validations without a new best before the rate falls.",
        bounds=AT_LEAST_1,
        unread=conditions.without_schedule("plateau"),
    )
    optimizer: Optimizer | Open = option("auto", "Optimiser.", auto=f"adam; {_BASE}: adagrad")
    loss: LossName | Open = option(
        "auto", "Binary or softmax cross-entropy.", flag="loss", auto=f"bce; {_BASE}: ce"
    )
    # "sum" is the reference's; with "mean", β means less.
    reduction: Reduction = option("sum", "Sum of a batch's terms, or each divided by its count.")
    label_smoothing: float | Open = option(
        "auto", "ε of the targets (1 - ε) y + m / |V|.", auto=f"0.1; {_BASE}: 0", bounds=BELOW_1
    )
    # The paper's recipes set 1.
    smoothing_mass: float | Open = option(
        "auto",
        "m of these targets.",
        auto="label_smoothing",
        bounds=AT_LEAST_0,
        unread=conditions.not_smoothed,
    )
    # 100 in the paper.
    negatives: int | Open = option(
        "auto",
        "1-k: negatives of each triple.",
        auto="100, less on graphs of fewer entities",
        bounds=AT_LEAST_1,
        unread=conditions.not_1_k,
    )
    filtered: bool = option(
        True,
        "1-k: training triples among the negatives are redrawn and masked.",
        unread=conditions.not_1_k,
    )
    group_queries: bool = option(
        False,
        "1-k: a query's triples stand together in a batch, which encodes each query once.",
        unread=conditions.not_1_k,
    )
    n3: float | Open = option(
        "auto",
        "N3 penalty on a batch's vectors, per positive.",
        auto=f"0; {_BASE}: 0.005, 0.02 or 0.05, {_SIZE}",
        bounds=AT_LEAST_0,
    )
    l2: float = option(0.0, "L2 penalty on them.", bounds=AT_LEAST_0)
    # w of Chen et al., 2021: -log softmax over relations r' of score(h, r', t).
    relation_prediction: float = option(
        0.0, "Weight of predicting each positive's relation.", bounds=AT_LEAST_0
    )
    # 10 epochs of ComplEx, d = 256, on FB15k-237: validation MRR 0.3076 with all, 0.3052 without.
    predicted_relations: PredictedRelations = option(
        "original",
        "original: of each triple once, among the original relations; all: in both directions, "
        "reciprocal relations among them.",
        unread=conditions.no_relation_prediction,
    )
    clip: float = option(0.0, "Largest gradient norm; 0 does not clip.", bounds=AT_LEAST_0)
    select: str = option(
        "mrr",
        "What stops early and chooses the epoch: mrr, the MRR of zero, low, medium or high, or "
        "weights: mrr=0.5,low=0.5.",
    )
    validate_every: int | Open = option(
        "auto", "Epochs between validations.", flag="validate_every", auto=_SIZE, bounds=AT_LEAST_1
    )
    patience: int = option(
        10,
        "Validations without a new best before training stops; 0: it does not.",
        flag="patience",
        bounds=AT_LEAST_0,
    )
    parent: str = option("", "RUN whose weights the training starts from, matched by name.")


@dataclass(frozen=True)
class StrategyConfig(Chooser, Generic[Open]):
    """``[strategy]``: what is done about degree bias.

    ``own`` as in :class:`ModelConfig`.
    """

    name: str = option(
        "standard", "What to do about degree bias.", flag="strategy", classes="strategy"
    )
    # η of the paper.
    threshold: int = option(
        5,
        "Treat tail-relation degrees below it.",
        flag="threshold",
        bounds=AT_LEAST_0,
        of="strategy",
    )
    # k of the paper.
    partners: int = option(
        5, "Mixing partners of each such triple.", flag="partners", bounds=AT_LEAST_1, of="strategy"
    )
    # s partners, each term times min(k, |C|) / s, so that the expected loss stays.
    draws: int | Literal["all"] = option(
        "all",
        "Partners of a triple drawn in each epoch, with weights to match; all: every one.",
        bounds=AT_LEAST_1,
        of="strategy",
    )
    # p, each term times 1 / p, for the same reason.
    share: float = option(
        1.0,
        "Share of the triples below the threshold mixed in each epoch, with weights to match.",
        bounds=_ABOVE_0_TO_1,
        of="strategy",
    )
    # 512 estimate a trained model's log Σ exp(s) of CoDEx-S to .08 (docs/guides/eta-and-k.md).
    rivals: int | Literal["all"] = option(
        512,
        "1-n, softmax: entities sampled for each batch's synthetic terms, in place of all.",
        bounds=AT_LEAST_1,
        of="strategy",
        unread=conditions.no_softmax_over_all,
    )
    partner_rule: Literal["any", "strict"] = option(
        "any",
        "strict: partners with another head and relation.",
        flag="partner_rule",
        of="strategy",
    )
    alpha: float = option(
        1.0,
        "Mix with λ ~ Beta(α, α).",
        flag="alpha",
        bounds=ABOVE_0,
        of="strategy",
        unread=conditions.fixed_lambda,
    )
    lambda_range: Literal["full", "half"] = option(
        "full", "half: λ in [½, 1].", of="strategy", unread=conditions.fixed_lambda
    )
    # λ = 1 is equivalent to over-sampling: the control.
    fixed_lambda: float | Literal["none"] = option(
        "none",
        "One λ instead of draws; 1 is the control.",
        flag="fixed_lambda",
        bounds=SHARE,
        of="strategy",
    )
    # β of the paper.
    synthetic_weight: float | Open = option(
        "auto",
        "Weight of the mixup loss.",
        flag="synthetic_weight",
        auto=f"1; {_BASE} with their defaults: 0.1",
        bounds=AT_LEAST_0,
        of="strategy",
    )
    # The reference has none there.
    synthetic_bias: bool = option(False, "Per-entity bias on synthetic scores.", of="strategy")
    reweight_up: float = option(
        1.0, "w: positives below the threshold weigh 1 + w.", bounds=AT_LEAST_0, of="strategy"
    )
    gamma: float = option(2.0, "γ of the focal factor.", bounds=AT_LEAST_0, of="strategy")
    focal_detach: bool = option(False, "No gradient through the focal factor.", of="strategy")
    tau: float = option(
        0.1, "τ of logit adjustment; Menon et al. (2021) take 1.", bounds=AT_LEAST_0, of="strategy"
    )
    adjustment_smoothing: float = option(
        1.0, "Pseudo-count that smooths p(t | r).", bounds=ABOVE_0, of="strategy"
    )
    own: Any = ()


def _as_main(name: str, default: Any = "same", words: tuple[str, ...] = _SAME) -> Any:
    """An option of the first stage: as the main stage's of that name, unless set."""
    made = (declared(TrainingConfig, "") | declared(ModelConfig, ""))[name]
    return option(
        default,
        made.help,
        auto=made.auto,
        bounds=made.bounds,
        of=made.of,
        unread=made.unread,
        words=words,
    )


@dataclass(frozen=True)
class PretrainConfig(Generic[Open]):
    """``[pretrain]``: the first stage, always with the standard strategy."""

    enabled: bool | Open = option("auto", "Train in two stages.", flag="pretrain", auto="for mixup")
    run: str = option(
        "", "Use RUN's embeddings, matched by name, instead of pre-training.", flag="pretrained"
    )
    regime: Regime | Open = _as_main("regime", "1-n")
    epochs: int | Open = _as_main("epochs")
    batch_size: int | Open = _as_main("batch_size")
    lr: float | Open = _as_main("lr")
    schedule: Schedule | Open = _as_main("schedule")
    lr_decay: float | Open = _as_main("lr_decay", words=_BOTH)
    lr_patience: int | Open = _as_main("lr_patience")
    optimizer: Optimizer | Open = _as_main("optimizer")
    loss: LossName | Open = _as_main("loss")
    reduction: Reduction | Open = _as_main("reduction")
    label_smoothing: float | Open = _as_main("label_smoothing")
    smoothing_mass: float | Open = _as_main("smoothing_mass", words=_BOTH)
    negatives: int | Open = _as_main("negatives", words=_BOTH)
    filtered: bool | Open = _as_main("filtered")
    group_queries: bool | Open = _as_main("group_queries")
    n3: float | Open = _as_main("n3")
    l2: float | Open = _as_main("l2")
    relation_prediction: float | Open = _as_main("relation_prediction")
    predicted_relations: PredictedRelations | Open = _as_main("predicted_relations")
    clip: float | Open = _as_main("clip")
    validate_every: int | Open = _as_main("validate_every")
    patience: int | Open = _as_main("patience")
    input_dropout: float | Open = _as_main("input_dropout")
    feature_dropout: float | Open = _as_main("feature_dropout")
    hidden_dropout: float | Open = _as_main("hidden_dropout")
    hidden_dropout1: float | Open = _as_main("hidden_dropout1")
    hidden_dropout2: float | Open = _as_main("hidden_dropout2")
    # Off as in the paper.
    swa: bool = option(False, "Weight averaging of the first stage.")
    swa_start: int = option(
        10, "As swa.start.", bounds=AT_LEAST_1, unread=conditions.first_not_averaged
    )
    swa_every: int = option(
        10, "As swa.every.", bounds=AT_LEAST_1, unread=conditions.first_not_averaged
    )
    swa_lr: float = option(5e-4, "As swa.lr.", bounds=ABOVE_0, unread=conditions.first_not_averaged)


@dataclass(frozen=True)
class SwaConfig(Generic[Open]):
    """``[swa]``: stochastic weight averaging of the main stage."""

    enabled: bool | Open = option("auto", "Weight averaging.", flag="swa", auto="for mixup")
    start: int = option(
        10,
        "First epoch, from 1, that may enter the average.",
        bounds=AT_LEAST_1,
        unread=conditions.not_averaged,
    )
    every: int = option(
        10, "Epochs between averaged ones.", bounds=AT_LEAST_1, unread=conditions.not_averaged
    )
    lr: float = option(
        5e-4, "Learning rate of averaging.", bounds=ABOVE_0, unread=conditions.not_averaged
    )


@dataclass(frozen=True)
class RuntimeConfig(Generic[Open]):
    """``[runtime]``: seed and machine; changes no definition."""

    seed: int = option(0, "Seed of everything but the split.", flag="seed", bounds=_SEED)
    device: str = option("auto", "auto, cpu, cuda, cuda:1 …", flag="device")
    precision: Literal["auto", "fp32", "bf16"] = option(
        "auto", "auto: bf16 where the hardware multiplies it.", flag="precision", words=()
    )
    # Recorded, as bits hold for one number only.
    threads: int | Open = option(
        "auto", "Threads of each process.", auto="PyTorch's number", bounds=AT_LEAST_1
    )
    block: int = option(2**24, "Scores held at once by an evaluation.", bounds=AT_LEAST_1)
    check_memory: bool = option(
        True, "Refuse a training whose estimated memory exceeds what is free."
    )
    save_every: int | Auto = option(
        "auto",
        "Epochs between complete states.",
        auto="as often as takes less than a twentieth of the time",
        bounds=AT_LEAST_1,
    )
