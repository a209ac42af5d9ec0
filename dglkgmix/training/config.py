"""Every option of a training, its default and the reason for it.

The dataclasses are the tables of ``config.toml``: ``[data]``, ``[model]``, ``[training]``,
``[strategy]``, ``[pretrain]``, ``[swa]`` and ``[runtime]``. A value ``"auto"`` is settled from the
graph and the machine by :mod:`dglkgmix.training.defaults`; ``"same"`` in ``[pretrain]`` means the
value that the main stage uses.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from dglkgmix.errors import ConfigError

Auto = Literal["auto"]
Same = Literal["same"]
Regime = Literal["1-n", "1-k"]
LossName = Literal["bce", "ce"]
DecoderName = Literal["conve", "tucker", "distmult", "complex", "rescal", "transe"]
ScheduleName = Literal["constant", "exponential", "plateau", "cosine"]
EncoderName = Literal["lookup", "rgcn"]
Number = TypeVar("Number", int, float)
StrategyName = Literal["standard", "mixup", "oversample", "reweight", "focal", "logit-adjustment"]


def settled(value: Number | Auto | Same) -> Number:
    """``value`` once it is a number.

    Raises:
        ConfigError: it still says "auto" or "same".
    """
    if isinstance(value, str):
        raise ConfigError(f"an option is still {value!r}: resolve the configuration first")
    return value


@dataclass(frozen=True)
class DataConfig:
    """``[data]``: where the triples come from and how they are read."""

    # A catalog name, a folder with train/valid/test, or one file. Kept for the record: a run
    # folder holds its own copy of the triples and does not need the source again.
    source: str = ""
    # What each column holds, or the names of the three that count; empty is head, relation, tail.
    columns: tuple[str, ...] = ()
    header: bool = False
    # "auto" follows the file name: a tab for .tsv and .txt, a comma for .csv.
    delimiter: str = "auto"
    # tsv, csv, parquet, ntriples or turtle; "auto" follows the file name.
    format: str = "auto"
    # White space around names is removed, and names are brought to a Unicode form ("none": as they
    # are). Off, as names are kept to the letter unless asked otherwise.
    strip: bool = False
    normalize: Literal["none", "nfc", "nfkc"] = "none"
    # Shares of train, valid and test where one file is split, and the seed of that split alone.
    split: tuple[float, float, float] = (0.8, 0.1, 0.1)
    split_seed: int = 0
    # Whether (h, r, t) and (t, r, h) come into one split.
    split_mirrors: Literal["together", "apart"] = "together"

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
        names = ("split", "split_seed", "split_mirrors")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class ModelConfig:
    """``[model]``: the encoder, the decoder and their geometry."""

    decoder: DecoderName = "conve"
    encoder: EncoderName = "lookup"
    # 200 in the paper; "auto" takes less on small graphs.
    entity_dim: int | Auto = "auto"
    # "auto" is the entity dimension. Only TuckER can take another.
    relation_dim: int | Auto = "auto"
    # Tables start as normal numbers times this; "auto" is the decoder's own start. The authors of
    # ComplEx-N3 take 1e-3.
    init_scale: float | Auto = "auto"
    # Per-entity bias on the scores of real queries. "auto": on for ConvE and TuckER, off elsewhere.
    bias: bool | Auto = "auto"
    # ConvE: height of the reshaped vector, "auto" the factor pair with H = 2W or nearest to it.
    height: int | Auto = "auto"
    filters: int = 32
    kernel: int = 3
    # Dropouts: input for every decoder; feature for ConvE; hidden for ConvE (after the projection);
    # hidden1 and hidden2 for TuckER (on the contracted core, after the contraction with the head).
    input_dropout: float = 0.2
    feature_dropout: float = 0.2
    hidden_dropout: float = 0.3
    hidden_dropout1: float = 0.4
    hidden_dropout2: float = 0.5
    # TransE: the norm of the distance.
    norm: Literal[1, 2] = 1
    # R-GCN.
    layers: int = 1
    decomposition: Literal["basis", "block"] = "basis"
    # Number of bases or of diagonal blocks.
    bases: int = 30
    encoder_dropout: float = 0.2
    # Share of a batch's own edges (with their reciprocals) hidden from message passing: what stays
    # would let the encoder read the answer.
    edge_dropout: float = 1.0
    # Neighbours drawn for each node and layer; 0 passes messages over the full graph.
    fanout: int = 0


@dataclass(frozen=True)
class TrainingConfig:
    """``[training]``: the main stage's loop and loss."""

    regime: Regime = "1-n"
    # "auto" follows the number of training triples; early stopping ends most trainings before.
    epochs: int | Auto = "auto"
    batch_size: int | Auto = "auto"
    lr: float | Auto = "auto"
    # "exponential": the rate times γ (lr_decay) after each epoch. "plateau": times γ after each
    # lr_patience validations without a new best. "cosine": from lr down to 0 over the epochs.
    schedule: ScheduleName = "exponential"
    # γ. "auto" is 1 for "exponential", which leaves the rate alone, and 0.5 for "plateau".
    lr_decay: float | Auto = "auto"
    lr_patience: int = 3
    optimizer: Literal["adam", "adagrad"] = "adam"
    loss: LossName = "bce"
    # "sum" is the reference's; "mean" divides each term by its own count, β then means less.
    reduction: Literal["sum", "mean"] = "sum"
    # Target (1 - ε) y + m / |V|; "auto" mass is ε, recipes of the paper set 1.
    label_smoothing: float = 0.1
    smoothing_mass: float | Auto = "auto"
    # 1-K: negatives of each triple, and whether training triples among them are redrawn and masked.
    # "auto" is the paper's 100, less on graphs of fewer entities.
    negatives: int | Auto = "auto"
    filtered: bool = True
    # Penalties on the vectors that a batch uses, per positive; 0 leaves them out.
    n3: float = 0.0
    l2: float = 0.0
    # w of relation prediction (Chen et al., 2021): each positive (h, r, t) of an original relation
    # adds w · −log softmax over the original relations r′ of score(h, r′, t); 0 leaves it out.
    relation_prediction: float = 0.0
    # Largest gradient norm; 0 does not clip.
    clip: float = 0.0
    # What early stopping and the best epoch follow: "mrr" over all validation queries, the MRR of a
    # degree bin ("zero", "low", "medium", "high"), or a weighted mean: "mrr=0.5,low=0.5".
    select: str = "mrr"
    # Filtered validation MRR every so many epochs, and after the last one.
    validate_every: int | Auto = "auto"
    # Validations without a new best after which training stops; 0 never stops early.
    patience: int = 10


@dataclass(frozen=True)
class StrategyConfig:
    """``[strategy]``: what is done about degree bias."""

    name: StrategyName = "standard"
    # η: triples whose tail-relation degree is strictly below it are treated.
    threshold: int = 5
    # k: mixing partners drawn for each such triple and epoch.
    partners: int = 5
    partner_rule: Literal["any", "strict"] = "any"
    # λ ~ Beta(α, α).
    alpha: float = 1.0
    lambda_range: Literal["full", "half"] = "full"
    # "none" draws λ; 1 is over-sampling in mixup's clothes, the control of every claim.
    fixed_lambda: float | Literal["none"] = "none"
    # β, the weight of the synthetic term.
    synthetic_weight: float = 1.0
    # The reference scores synthetic samples without the per-entity bias.
    synthetic_bias: bool = False
    # w: re-weighting gives positives below η the weight 1 + w.
    reweight_up: float = 1.0
    # γ of the focal factor, and whether gradients pass through it.
    gamma: float = 2.0
    focal_detach: bool = False
    # τ of logit adjustment, and the pseudo-count that smooths p(t | r).
    tau: float = 1.0
    adjustment_smoothing: float = 1.0


@dataclass(frozen=True)
class PretrainConfig:
    """``[pretrain]``: the first stage, always with the standard strategy."""

    # "auto": on for mixup, off for the others.
    enabled: bool | Auto = "auto"
    # A finished run whose embeddings are taken in place of a first stage.
    run: str = ""
    regime: Regime | Same = "1-n"
    epochs: int | Same = "same"
    batch_size: int | Same = "same"
    lr: float | Same = "same"
    schedule: ScheduleName | Same = "same"
    lr_decay: float | Auto | Same = "same"
    lr_patience: int | Same = "same"
    optimizer: Literal["adam", "adagrad"] | Same = "same"
    loss: LossName | Same = "same"
    reduction: Literal["sum", "mean"] | Same = "same"
    label_smoothing: float | Same = "same"
    smoothing_mass: float | Auto | Same = "same"
    negatives: int | Auto | Same = "same"
    filtered: bool | Same = "same"
    n3: float | Same = "same"
    l2: float | Same = "same"
    relation_prediction: float | Same = "same"
    clip: float | Same = "same"
    validate_every: int | Same = "same"
    patience: int | Same = "same"
    input_dropout: float | Same = "same"
    feature_dropout: float | Same = "same"
    hidden_dropout: float | Same = "same"
    hidden_dropout1: float | Same = "same"
    hidden_dropout2: float | Same = "same"
    # Averaging of the first stage, off as in the paper; the other three mean what ``[swa]`` says.
    swa: bool = False
    swa_start: int = 10
    swa_every: int = 10
    swa_lr: float = 5e-4


@dataclass(frozen=True)
class SwaConfig:
    """``[swa]``: stochastic weight averaging of the main stage."""

    # "auto": on for mixup, off for the others.
    enabled: bool | Auto = "auto"
    # First epoch (1-based) that may enter the average, and the period.
    start: int = 10
    every: int = 10
    lr: float = 5e-4


@dataclass(frozen=True)
class RuntimeConfig:
    """``[runtime]``: seed and machine; changes no definition."""

    seed: int = 0
    device: str = "auto"
    # "auto" takes bf16 where the hardware multiplies it natively, fp32 elsewhere.
    precision: Literal["auto", "fp32", "bf16"] = "auto"
    # Of each process. "auto" is PyTorch's own number; recorded, as bits hold for one number only.
    threads: int | Auto = "auto"
    # Scores held at once by an evaluation.
    block: int = 2**24
    # Refuse a training whose estimated memory exceeds what is free.
    check_memory: bool = True
    # Complete states are written every so many epochs and at the end of each stage. "auto" writes
    # as often as keeps writing below a twentieth of the time.
    save_every: int | Auto = "auto"


@dataclass(frozen=True)
class Config:
    """A whole training. Field names are the tables of ``config.toml``."""

    data: DataConfig = field(default_factory=DataConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    strategy: StrategyConfig = field(default_factory=StrategyConfig)
    pretrain: PretrainConfig = field(default_factory=PretrainConfig)
    swa: SwaConfig = field(default_factory=SwaConfig)
    runtime: RuntimeConfig = field(default_factory=RuntimeConfig)

    @property
    def sigmoid_is_probability(self) -> bool:
        """Whether σ(score) is one: not after softmax cross-entropy, nor of TransE (method)."""
        return self.training.loss == "bce" and self.model.decoder != "transe"
