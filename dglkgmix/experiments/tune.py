"""Search for settings with Optuna: trials, pruning, many processes, the best as a recipe."""

from __future__ import annotations

import fcntl
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from dglkgmix.atomic import make_folder, write_atomic
from dglkgmix.config import Config
from dglkgmix.config.assembly import overridden
from dglkgmix.config.checks import validate, validate_alone
from dglkgmix.config.toml import differences, dumps, toml_value
from dglkgmix.errors import (
    OVERWRITE,
    CheckpointError,
    ConfigError,
    DependencyError,
    DglkgmixError,
    StorageError,
)
from dglkgmix.evaluation.account import account
from dglkgmix.evaluation.queries import evaluation_queries
from dglkgmix.evaluation.rank_table import rank_split
from dglkgmix.experiments.execute import load_graph, train_or_resume
from dglkgmix.experiments.plan import digest, machine_free, pretraining_config, set_options, slug
from dglkgmix.experiments.recipes import load_recipe
from dglkgmix.experiments.space import Space
from dglkgmix.files import refuse_others
from dglkgmix.kg.degrees import DegreeBins
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.passwords import hide_passwords
from dglkgmix.runs.history import Row
from dglkgmix.runs.run import Run
from dglkgmix.sampling.seeds import derive
from dglkgmix.training import launch
from dglkgmix.training.defaults import resolve
from dglkgmix.training.progress import Progress
from dglkgmix.training.stages import MAIN

Objective = Literal["mrr", "low", "mix"]
LOW = "low"
TRIALS, PRETRAINED, BEST, STUDY = "trials", "pretrained", "best.toml", "study.db"
# Says which search the folder, and its best recipe, belong to.
RECORD = "search.json"
ERROR = "error"
# What ends a trial and not the search.
FAILURES = (DglkgmixError, RuntimeError, MemoryError)


@dataclass(frozen=True)
class Goal:
    """What is maximised on the validation split.

    Attributes:
        objective: ``mrr``; ``low``, the MRR of the low bin (degrees 1 to 9); or ``mix``.
        weight: of the low bin in the mix; the whole split has the rest.
    """

    objective: Objective = "mrr"
    weight: float = 0.5

    def __post_init__(self) -> None:
        if not 0 <= self.weight <= 1:
            raise ConfigError(f"weight must lie in [0, 1], not {self.weight}")

    def check(self, kg: KnowledgeGraph) -> None:
        """Refuse data that tell no trial from another.

        Raises:
            ConfigError: there are no validation triples, or none that the objective asks for.
        """
        queries = evaluation_queries(kg, "valid")
        if not len(queries):
            raise ConfigError("the data has no validation triples to choose settings by")
        counts = DegreeBins().count(kg.degrees.tail_relation(queries.answers, queries.relations))
        if self.objective != "mrr" and not counts[LOW]:
            raise ConfigError("no validation query falls into the low bin: take --objective mrr")

    def value(self, valid: dict[str, Any]) -> float:
        """The goal's value for an account of the validation split of data that passed the check."""
        weight = {"mrr": 0.0, "low": 1.0, "mix": self.weight}[self.objective]
        mrr, low = valid["overall"]["mrr"], valid["bins"][LOW]["mrr"]
        return float((1 - weight) * mrr + weight * low if weight else mrr)


@dataclass(frozen=True)
class Search:
    """One search: where, over what and for what.

    Attributes:
        base: settings that trials start from; the data source, the seed and what was given on the
            command line stand in it.
        out: folder of the trials' runs and of ``best.toml``.
        storage: an Optuna storage; None is a SQLite file in ``out``.
        sampler_seed: of Optuna's sampler, for a search in one process that can be repeated, also
            in parts.
    """

    base: Config
    space: Space
    goal: Goal
    out: Path
    storage: str | None = None
    sampler_seed: int | None = None

    @property
    def study_name(self) -> str:
        """The same for every process of this search, another one for other settings."""
        content = repr((dumps(machine_free(self.base)), self.space.choices, self.goal))
        key = hashlib.sha256(content.encode()).hexdigest()[:8]
        return f"{slug(self.base.data.source)}-{key}"

    @property
    def content(self) -> dict[str, str]:
        """What makes this search another one, by name: goal, choices and settings."""
        found = {"the objective": repr(self.goal.objective)}
        if self.goal.objective == "mix":
            found["its weight"] = repr(self.goal.weight)
        found |= {f"[space] {key}": str(choice) for key, choice in self.space.choices.items()}
        settings = differences(Config(), machine_free(self.base))
        return found | {option: repr(value) for option, (_, value) in settings.items()}

    def run_folder(self, number: int) -> Path:
        """Where the run of a trial is."""
        return self.out / TRIALS / f"{self.study_name}-{number:05}"


def starting_point(
    space: Space,
    data: dict[str, Any],
    recipe: str | None = None,
    overrides: Sequence[str] = (),
) -> Config:
    """The settings that trials start from: recipe, ``[settings]`` of the space, data, overrides.

    ``data`` are ``data.source`` and the options that say how it is read; ``recipe`` takes the place
    of the space's; ``overrides`` are ``table.option=value`` strings.

    Raises:
        ConfigError: a value that an option cannot take, or an override of what is searched over.
    """
    name = recipe or space.recipe
    config = Config() if name is None else load_recipe(name)
    config = set_options(config, space.settings | data, where="[settings]")
    validate(config)
    for option in (text.partition("=")[0].strip() for text in overrides):
        if option in space.choices:
            raise ConfigError(f"--set {option}: it is searched over, in [space]: leave it out")
    config = overridden(config, overrides, data)
    validate_alone(config)
    return config


def search(
    plan: Search,
    trials: int,
    say: Callable[[str], None] = lambda line: None,
    *,
    overwrite: bool = False,
) -> dict[str, Any]:
    """Run trials until the study has ``trials`` finished ones, those of other processes included.

    Several processes at the end of a search may finish a trial each, so that the study holds a
    few more. A trial that was interrupted does not count. Where the goal is the MRR, trials that
    have no hope are ended early; a bin's MRR is not known before the end, and may rise where the
    whole split's falls. A trial that fails is reported and counted; after each trial the best
    settings so far are written to ``best.toml``, with ``overwrite`` in place of another search's.

    Returns:
        ``study``, ``storage`` (its password hidden), ``trials`` (finished), ``best`` (``number``,
        ``value``, ``options``; None where no trial was completed) and ``recipe`` (the file).

    Raises:
        DependencyError: Optuna is not installed.
        ConfigError: data without the validation triples that the goal asks for, or a file where the
            folder belongs.
        CheckpointError: the folder is another search's and ``overwrite`` is not set.
        StorageError: the storage cannot be reached.
    """
    try:
        import optuna
    except ImportError as error:
        raise DependencyError(
            f"Optuna does not load ({error}): pip install 'dglkgmix[tune]'"
        ) from None
    kg = load_graph(plan.base.data)
    plan.goal.check(kg)
    with _locked(plan.out / ".storage.lock"):
        claim(plan.out, plan.content, overwrite=overwrite)
    study = _study(plan)
    while (done := _finished(study)) < trials:
        # Nothing else decides the draws of a trial than the number of those before it: so a search
        # that was cut up draws what an undisturbed one does. NumPy's RandomState takes 32 bits.
        seed = plan.sampler_seed
        seed = None if seed is None else derive(seed, "tune", done) % 2**32
        study.sampler = optuna.samplers.TPESampler(seed=seed)
        study.optimize(
            lambda trial: _trial(plan, kg, trial),
            n_trials=1,
            catch=FAILURES,
            callbacks=[lambda study, trial: _report(plan, study, trial, say)],
        )
    completed = study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.COMPLETE,))
    best = study.best_trial if completed else None
    if best is not None:
        _write_best(plan, best)
    return {
        "study": plan.study_name,
        "storage": hide_passwords(plan.storage or str(plan.out / STUDY), plan.storage or ""),
        "trials": _finished(study),
        "best": best and {"number": best.number, "value": best.value, "options": best.params},
        "recipe": str(plan.out / BEST) if best is not None else None,
        "error": None if best is not None else study.trials[-1].user_attrs.get(ERROR),
    }


def claim(out: Path, content: Mapping[str, str], *, overwrite: bool = False) -> None:
    """Take a folder for the search that :attr:`Search.content` describes, or find it taken by that.

    Raises:
        CheckpointError: the folder is another search's, or its best recipe of no known search, and
            ``overwrite`` is not set; or it holds something, and nothing of a search.
    """
    path = out / RECORD
    advice = (
        f"Choose another folder, or pass {OVERWRITE} to replace the best recipe (older trials stay)"
    )
    if path.exists() and not overwrite:
        try:
            before = json.loads(path.read_bytes())
        except ValueError:
            before = None
        if not isinstance(before, dict):
            raise CheckpointError(f"{path}: damaged. {advice}")
        changes = [
            f"{name} was {before.get(name, 'left out')} and is {content.get(name, 'left out')} now"
            for name in {**content, **before}
            if before.get(name) != content.get(name)
        ]
        if changes:
            more = f"; and {len(changes) - 3} more" if len(changes) > 3 else ""
            shown = "; ".join(changes[:3]) + more
            raise CheckpointError(f"{out}: holds another search: {shown}. {advice}")
    elif (out / BEST).exists() and not overwrite:
        raise CheckpointError(f"{out / BEST}: exists, and of no known search. {advice}")
    elif not path.exists() and not (out / BEST).exists():
        refuse_others(out, (".*",), " and no search's folder; choose another one")
    write_atomic(path, json.dumps(dict(content), indent=1, ensure_ascii=False).encode())


def _trial(plan: Search, kg: KnowledgeGraph, trial: Any) -> float:
    config = set_options(plan.base, plan.space.suggest(trial), where="trial")
    try:
        validate(config)
        settled = resolve(config, kg)
        first = pretraining_config(settled)
        if first is not None:  # Trials whose first stage is the same start from one run of it.
            shared = plan.out / PRETRAINED / digest(first)[:12]
            with _locked(shared.with_suffix(".lock")):
                train_or_resume(shared, first, Progress())
            settled = replace(settled, pretrain=replace(settled.pretrain, run=str(shared)))
        # Epochs are validated by the MRR of the whole split.
        observers = [_Pruner(trial)] if plan.goal.objective == "mrr" else []
        path = plan.run_folder(trial.number)
        # A storage that was started anew counts from 0 again: an older run gives way.
        launch.train(kg, settled, path, overwrite=path.exists(), observers=observers)
        return plan.goal.value(_steering_account(path, kg))
    except FAILURES as error:
        kind = "" if isinstance(error, DglkgmixError) else f"{type(error).__name__}: "
        trial.set_user_attr(ERROR, f"{kind}{error}")
        raise


def _steering_account(path: Path, kg: KnowledgeGraph) -> dict[str, Any]:
    """Of the validation split, filtered by train and valid alone: test triples steer no search."""
    return account(rank_split(Run.open(path).scorer, kg, "valid"), DegreeBins())


class _Pruner:
    """Reports each validation of the main stage and ends a trial that has no hope."""

    def __init__(self, trial: Any) -> None:
        self._trial = trial

    def write(self, row: Row) -> None:
        from optuna import TrialPruned

        if row.stage != MAIN or row.valid_mrr is None:
            return
        self._trial.report(row.valid_mrr, row.epoch)
        if self._trial.should_prune():
            raise TrialPruned


def _study(plan: Search) -> Any:
    import optuna

    storage = plan.storage or f"sqlite:///{(plan.out / STUDY).resolve()}"
    # A trial that fails is told by our own error, not by a traceback of the library.
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        # Two processes that create the tables of one file at once would trip over each other.
        with _locked(plan.out / ".storage.lock"):
            return optuna.create_study(
                storage=storage,
                study_name=plan.study_name,
                direction="maximize",
                load_if_exists=True,
                pruner=optuna.pruners.MedianPruner(n_startup_trials=5),
            )
    except Exception as error:
        # Its cause may quote the storage's password, so it is no part of a traceback.
        message = f"{storage}: the study cannot be opened: {error}"
        raise StorageError(hide_passwords(message, storage)) from None


def _finished(study: Any) -> int:
    """Trials that ran to their end, were pruned, or failed by an error of their own.

    One that was interrupted has failed for Optuna, too, but no error is recorded with it.
    """
    ended = [trial for trial in study.get_trials(deepcopy=False) if trial.state.is_finished()]
    return sum(trial.state.name != "FAIL" or ERROR in trial.user_attrs for trial in ended)


def _report(plan: Search, study: Any, trial: Any, say: Callable[[str], None]) -> None:
    options = ", ".join(f"{option} = {value}" for option, value in trial.params.items())
    if trial.state.name == "COMPLETE":
        say(f"trial {trial.number}: {trial.value:.4f} with {options}")
        _write_best(plan, study.best_trial)
    elif trial.state.name == "PRUNED":
        say(f"trial {trial.number}: pruned with {options}")
    else:
        say(f"trial {trial.number}: FAILED with {options}: {trial.user_attrs[ERROR]}")


def _write_best(plan: Search, best: Any) -> None:
    config = set_options(plan.base, best.params, where=BEST)
    about = f"The best of a search: trial {best.number} of study {plan.study_name}"
    head = ["[recipe]", f"about = {toml_value(about)}"]
    path = plan.run_folder(best.number)
    if (path / "metrics.json").exists():  # The best run may be another machine's.
        test = Run.open(path).metrics["test"]
        if test is not None:
            head += [f"expected = {test['overall']['mrr']!r}", 'expected_from = "measured"']
    write_atomic(plan.out / BEST, ("\n".join(head) + "\n\n" + dumps(config, Config())).encode())


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Only one process of this machine at a time goes on; others wait."""
    make_folder(path.parent)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
