"""The options that have a name of their own: on the command line, and in the estimator."""

from __future__ import annotations

# Flag of `dglkgmix train` and parameter of `KGCompleter` -> option of the configuration.
TRAINING = {
    "model": "model.decoder",
    "encoder": "model.encoder",
    "strategy": "strategy.name",
    "regime": "training.regime",
    "epochs": "training.epochs",
    "batch_size": "training.batch_size",
    "lr": "training.lr",
    "loss": "training.loss",
    "threshold": "strategy.threshold",
    "partners": "strategy.partners",
    "partner_rule": "strategy.partner_rule",
    "synthetic_weight": "strategy.synthetic_weight",
    "alpha": "strategy.alpha",
    "fixed_lambda": "strategy.fixed_lambda",
    "pretrain": "pretrain.enabled",
    "pretrained": "pretrain.run",
    "swa": "swa.enabled",
    "validate_every": "training.validate_every",
    "patience": "training.patience",
    "device": "runtime.device",
    "precision": "runtime.precision",
    "seed": "runtime.seed",
}

# Flag -> option, for how triples are read.
READING = {
    "columns": "data.columns",
    "header": "data.header",
    "delimiter": "data.delimiter",
    "format": "data.format",
    "strip": "data.strip",
    "normalize": "data.normalize",
    "shares": "data.split",
    "split_seed": "data.split_seed",
    "split_mirrors": "data.split_mirrors",
}


def flag_of(option: str) -> str | None:
    """How the command line calls ``table.option``; None where only ``--set`` does."""
    if option == "data.source":
        return "SOURCE"
    flags = [flag for flag, name in (TRAINING | READING).items() if name == option]
    return f"--{flags[0].replace('_', '-')}" if flags else None
