"""What ``evaluate`` looks at: a run, a baseline, or the ranks of another tool."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dglkgmix.cli.common import load_source, open_run
from dglkgmix.config.settings import READING
from dglkgmix.errors import ConfigError, DataError

if TYPE_CHECKING:
    from torch import Tensor

    from dglkgmix.evaluation.candidates import Candidates
    from dglkgmix.evaluation.list_account import ListedAnswers
    from dglkgmix.evaluation.list_probability import ListProbability
    from dglkgmix.evaluation.model_scorer import Scorer
    from dglkgmix.evaluation.platt import Platt
    from dglkgmix.evaluation.rank_table import RankTable
    from dglkgmix.kg.degrees import DegreeBins
    from dglkgmix.kg.graph import KnowledgeGraph
    from dglkgmix.kg.options import ReadOptions

Options = dict[str, Any]


@dataclass
class Subject:
    """Ranks of one split, and the model behind them where there is one.

    Attributes:
        reading: how names of files are read.
        ranks: of a split, by name.
        scorer: the model; None where there are ranks alone.
        platt, listed: scaling and probability of ranked answers; None with nothing to fit them on.
        sigmoid_is_probability: whether the plain σ(score) can be read as one.
        new: entities that the run which it started from does not know.
    """

    title: str
    kg: KnowledgeGraph
    split: str
    reading: ReadOptions
    candidates: Candidates
    ranks: Callable[[str], RankTable]
    scorer: Scorer | None = None
    platt: Callable[[], Platt | None] = lambda: None
    listed: Callable[[], ListProbability | None] = lambda: None
    sigmoid_is_probability: bool = False
    new: Collection[str] = ()

    @cached_property
    def table(self) -> RankTable:
        """The ranks of the split."""
        return self.ranks(self.split)

    def calibration(
        self, bins: DegreeBins, false: Tensor | None = None, fit_false: Tensor | None = None
    ) -> Options | None:
        """The ``calibration`` of an account; None where there is no model or nothing to fit.

        False triples (M, 3) to assess and to fit with take the place of sampled ones.
        """
        from dglkgmix.evaluation.calibration import assess_calibration, fit_calibration

        if self.scorer is None:
            return None
        if fit_false is None:
            platt = self.platt()
        else:
            ranks = self.ranks("valid")
            platt = fit_calibration(self.scorer, self.kg, ranks, false_triples=fit_false)
        if platt is None:
            return None
        asked = self.scorer, self.kg, self.split, self.table
        return assess_calibration(*asked, platt=platt, bins=bins, false_triples=false)

    def classification(self, false: Tensor | None, fit_false: Tensor | None) -> Options | None:
        """The triple classification of given false triples; None without these."""
        from dglkgmix.evaluation.triple_classification import classify_triples

        if false is None or self.scorer is None:
            return None
        return classify_triples(self.scorer, self.kg, self.split, false, fit_false)

    def answers(self) -> ListedAnswers | None:
        """The first answers with their probabilities; None where there is nothing to fit these."""
        from dglkgmix.evaluation.list_account import listed_answers

        fitted = self.listed()
        if self.scorer is None or fitted is None:
            return None
        return listed_answers(self.scorer, self.kg, self.split, fitted, self.candidates)

    def triples(self, path: Path | None) -> Tensor | None:
        """The false triples (M, 3) of a file; None without one."""
        from dglkgmix.evaluation.negatives import read_false_triples

        return None if path is None else read_false_triples(path, self.kg, self.reading)


def find_subject(run: Path | None, options: Options) -> Subject:
    """The one of RUN, ``--ranks`` and ``--baseline`` that is given.

    Raises:
        ConfigError: none or several are, or an option has nothing to do with it.
        DataError: the split holds no triples.
    """
    given = {"RUN": run, "--ranks": options["ranks"], "--baseline": options["baseline"]}
    chosen = [name for name, value in given.items() if value is not None]
    if len(chosen) != 1:
        raise ConfigError(
            "evaluate takes one of RUN, --ranks and --baseline; given: "
            f"{' and '.join(chosen) or 'none'}"
        )
    if run is not None:
        subject = _run(run, options)
    elif options["ranks"] is not None:
        subject = _foreign(options["ranks"], options)
    else:
        subject = _baseline(options)
    if not len(subject.table):
        raise DataError(
            f"{subject.title}: its {options['split']} split holds no triples: choose another by "
            "--split"
        )
    return subject


def _run(path: Path, options: Options) -> Subject:
    from dglkgmix.kg.options import ReadOptions

    _refuse(options, "RUN, which holds its own triples", ("data", *READING))
    run = open_run(path, options["candidates"], options["types"])
    reading = ReadOptions(**run.config.data.reading)
    anew = options["block"] is not None  # asked for
    ranks = ranker(run.scorer, run.kg, options, run.candidates) if anew else run.rank_table
    return Subject(
        str(path),
        run.kg,
        options["split"],
        reading,
        run.candidates,
        ranks,
        run.scorer,
        platt=run.calibration,
        listed=run.list_probability,
        sigmoid_is_probability=run.config.sigmoid_is_probability,
        new=run.new_entities,
    )


def _foreign(path: Path, options: Options) -> Subject:
    from dglkgmix.evaluation.foreign import read_ranks

    unused = ("false_triples", "fit_false_triples", "block")
    _refuse(options, "--ranks, whose model is not at hand", unused)
    kg, reading, candidates = _data(options, "--ranks")
    ranks = partial(read_ranks, path, kg, options=reading, candidates=candidates)
    return Subject(str(path), kg, options["split"], reading, candidates, ranks)


def _baseline(options: Options) -> Subject:
    from dglkgmix.evaluation.calibration import fit_calibration
    from dglkgmix.evaluation.list_probability import fit_on_validation
    from dglkgmix.evaluation.popularity import PopularityScorer

    kg, reading, candidates = _data(options, "--baseline")
    scorer = PopularityScorer(kg)
    ranks = ranker(scorer, kg, options, candidates)
    title = f"{options['baseline']} on {options['data']}"
    return Subject(
        title,
        kg,
        options["split"],
        reading,
        candidates,
        ranks,
        scorer,
        platt=lambda: fit_calibration(scorer, kg, ranks("valid")),
        listed=lambda: fit_on_validation(scorer, kg, candidates),
    )


def ranker(
    scorer: Scorer, kg: KnowledgeGraph, options: Options, candidates: Candidates
) -> Callable[[str], RankTable]:
    """The ranks of any split by ``scorer``, in blocks of the size that ``options`` ask for."""
    from dglkgmix.evaluation.rank_table import rank_split

    return lambda split: rank_split(scorer, kg, split, options["block"], candidates=candidates)


def _data(options: Options, option: str) -> tuple[KnowledgeGraph, ReadOptions, Candidates]:
    from dglkgmix.evaluation.candidates import Candidates, read_types
    from dglkgmix.kg.options import ReadOptions

    if options["data"] is None:
        raise ConfigError(f"{option} needs --data SOURCE: the graph whose triples are ranked")
    kg = load_source(options["data"], **{name: options[name] for name in READING})
    reading = ReadOptions(strip=bool(options["strip"]), normalize=options["normalize"])
    types = None if options["types"] is None else read_types(options["types"], kg, reading)
    return kg, reading, Candidates.of(kg, options["candidates"], types)


def _refuse(options: Options, subject: str, names: tuple[str, ...]) -> None:
    for name in names:
        if options[name] is not None:
            raise ConfigError(f"--{name.replace('_', '-')} has no use with {subject}")
