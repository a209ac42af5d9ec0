"""KGCompleter: a scikit-learn-compatible estimator; fit on triples, predict tails."""

from __future__ import annotations

import inspect
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from dglkgmix.config.checks import check_count
from dglkgmix.config.toml import set_option
from dglkgmix.errors import ConfigError, DataError, UnknownNameError
from dglkgmix.estimator import ranks as ranking
from dglkgmix.estimator.columns import Array, Names, ids_of, split_columns, with_tails
from dglkgmix.estimator.options import constructor, from_config, to_config
from dglkgmix.estimator.packed import PackedRun
from dglkgmix.evaluation.candidates import Candidates
from dglkgmix.evaluation.ranking import BLOCK, RUN
from dglkgmix.kg import ROLES
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.kg.splits import assign_parts
from dglkgmix.prediction.facts import Fact, judge_facts
from dglkgmix.runs.run import Run
from dglkgmix.training.launch import train
from dglkgmix.training.prepared import as_weights
from dglkgmix.training.progress import make_progress


class TopK(NamedTuple):
    """Best answers to n queries, best first.

    Attributes:
        tails: (n, k) object, names as in ``classes_``; None where fewer than k were left. With k
            above the number of entities E there are E columns, all the answers there are.
        scores: (n, k) float, NaN there.
        probabilities: (n, k) float, that the answer is among held-out facts of its query: a lower
            bound of that it is true. NaN there, for facts of train and valid, after the first 20
            other answers, and everywhere with too few held-out triples to fit it.
    """

    tails: Array
    scores: Array
    probabilities: Array


class KGCompleter(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Knowledge graph completion as a scikit-learn estimator.

    X holds triples, (n, 3): head, relation, tail; or (n, 2) with the tails as y. Names are
    strings or integers, of one kind in heads and tails. Duplicates count once. Letters: n rows, E
    entities, D dimension.

    Parameters are those of ``dglkgmix train``, by the names of its flags and with its defaults;
    "auto" follows the size of the graph. Beside them:

    Args:
        validation: share of the triples held out to select the epoch and to calibrate; every name
            stays in training. 0 trains all epochs on all triples.
        unseen: what :meth:`rank` and :meth:`score` make of names that ``fit`` has not seen, as in
            a fold of a cross-validation: "tie" ranks their queries as if all candidates scored
            the same, "error" refuses them. Predictions always refuse them.
        warm_start: a later ``fit`` starts from the weights of the one before, matched by name, and
            takes a quarter of the "auto" epochs; its X holds all triples, old and new.
        config: any other option: a dictionary of tables, ``{"model": {"entity_dim": 64}}``, a
            :class:`dglkgmix.config.Config` or the path of a TOML file. Parameters that
            differ from their defaults win.
        candidates: which entities may answer in :meth:`predict`, :meth:`top_k` and :meth:`rank`; a
            rule of :meth:`dglkgmix.evaluation.candidates.Candidates.of`. An answer to rank that is
            none has the last rank.
        verbose: show progress on standard error.

    Attributes:
        classes_: (E,) entities: the columns of ``predict_proba``. ``fit`` has them ascending,
            :meth:`from_run` in the run's order.
        relations_: (R,) relations, likewise.
        history_: one dictionary an epoch.
        run_: the training as a :class:`dglkgmix.runs.run.Run`.
        n_features_in_, feature_names_in_: of the X that ``fit`` was given.
    """

    run_: PackedRun

    def __init__(self, **params: Any) -> None:
        given = inspect.signature(type(self)).bind(**params)
        given.apply_defaults()
        for name, value in given.arguments.items():
            setattr(self, name, value)

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> KGCompleter:
        """Train on triples.

        Args:
            X: (n, 3) triples, or (n, 2) heads and relations.
            y: (n,) tails, where X has two columns.
            sample_weight: (n,) factors of the positive terms of the triples, in both directions;
                copies of one triple take their mean.

        Raises:
            DataError: X, y or the weights are not what is described here.
            ConfigError: a parameter that makes no sense, by name.
            CheckpointError: with ``warm_start``, an earlier ``fit`` of another model.
        """
        config = to_config(self.get_params(deep=False))
        if self.unseen not in ("tie", "error"):
            raise ConfigError(f"unseen must be 'tie' or 'error', not {self.unseen!r}")
        share = self.validation
        if not isinstance(share, float | int | np.floating) or not 0 <= share < 1:
            raise ConfigError(f"validation must be in [0, 1), not {share!r}")
        columns = with_tails(split_columns(X, (2, 3)), y)
        if len(columns[0]) == 0:
            raise DataError("X holds no triples: there is nothing to fit")
        entities = Names.of(columns[0], columns[2], what="entities")
        relations = Names.of(columns[1], what="relations")
        triples = ids_of(columns, entities, relations)
        # A seed of its own: runs of several training seeds must hold out the same triples.
        part = assign_parts(triples, (1 - float(share), float(share), 0.0), seed=0)
        kept, held = part == 0, part == 1
        kg = KnowledgeGraph.from_arrays(
            triples[kept],
            triples[held],
            entities=entities.strings(),
            relations=relations.strings(),
        )
        Candidates.of(kg, self.candidates)  # Refused before the training.
        weights = None
        if sample_weight is not None:
            weights = as_weights(sample_weight, len(triples))[kept]
        with tempfile.TemporaryDirectory(prefix="dglkgmix-") as folder:
            out = Path(folder) / "run"
            progress = make_progress(quiet=not self.verbose)
            if self.warm_start and hasattr(self, "run_"):
                self.run_.write(parent := Path(folder) / "before")
                config = set_option(config, "training.parent", str(parent))
            named = "the earlier fit"
            train(kg, config, out, progress=progress, sample_weight=weights, parent_name=named)
            run = PackedRun.pack(out)
        # Only now: a fit that fails or is interrupted leaves the one before it as it was.
        validate_data(self, X, skip_check_array=True)
        self.classes_, self.relations_ = entities.values, relations.values
        self.run_ = run
        self.history_ = run.history
        run.input_kinds = {
            "entities": entities.kind,
            "relations": relations.kind,
            "features": list(getattr(self, "feature_names_in_", ())) or self.n_features_in_,
        }
        return self

    def predict(self, X: Any) -> Array:
        """The best tail (n,) of each head and relation, known answers included.

        X is (n, 2), or (n, 3) whose tails are not looked at; so for every prediction.

        Raises:
            UnknownNameError: a name that ``fit`` has not seen, with close matches.
        """
        heads, relations = self._query_ids(X)
        among = self._run().candidates
        best = [scores.argmax(1) for _, scores in self._blocks(heads, relations, among)]
        return np.asarray(self.classes_[np.concatenate([*best, np.empty(0, np.int64)])])

    def decision_function(self, X: Any) -> Array:
        """Scores (n, E) of every tail, columns as ``classes_``."""
        heads, relations = self._query_ids(X)
        found = np.empty((len(heads), len(self.classes_)), dtype=np.float32)
        for rows, scores in self._blocks(heads, relations):
            found[rows] = scores
        return found

    def predict_proba(self, X: Any) -> Array:
        """Probability (n, E) of each triple against a random false one, by Platt scaling.

        Fitted on held-out triples and as many false ones. The best answers of a query are no random
        ones, and fewer of them are true than it says: for these use :meth:`top_k`. A query may have
        many true tails: rows do not sum to 1.

        Raises:
            ConfigError: there were no held-out triples (``validation=0``).
        """
        scores = self.decision_function(X)
        platt = self.run_.calibration()
        if platt is None:
            raise ConfigError(
                "predict_proba needs held-out triples to calibrate on: fit with validation > 0"
            )
        return platt.probability(scores)

    def top_k(self, X: Any, k: int = 10, *, new_only: bool = False) -> TopK:
        """The k best tails of each query; with ``new_only`` those not seen in ``fit``.

        Equal scores come in the order of ``classes_``.

        Raises:
            ConfigError: k is below 1.
        """
        heads, relations = self._query_ids(X)
        check_count("k", k, "answers")
        shape = len(heads), min(k, len(self.classes_))
        tails, values = np.full(shape, None, dtype=object), np.full(shape, np.nan)
        run = self._run()
        chances, listed = np.full(shape, np.nan), run.list_probability()
        for rows, block in self._blocks(heads, relations, run.candidates):
            scores = torch.from_numpy(block)
            if listed is not None:
                asked = run.kg, heads[rows], relations[rows], scores
                found = listed.of_entities(*asked, candidates=run.candidates)
            if new_only:
                known = self.run_.kg.known_index.tails_of(heads[rows], relations[rows])
                scores[known] = -torch.inf
            ordered = scores.sort(stable=True, dim=1, descending=True)
            best, places = (part[:, : shape[1]].numpy() for part in ordered)
            left = np.isfinite(best)
            tails[rows][left] = self.classes_[places[left]]
            values[rows][left] = best[left]
            if listed is not None:
                chances[rows] = np.where(left, np.take_along_axis(found, places, 1), np.nan)
        return TopK(tails, values, chances)

    def rank(self, X: Any, y: Any = None) -> Array:
        """Filtered realistic ranks (n, 2) of triples: of the tail, then of the head.

        Known answers are those of ``fit`` and of X itself.

        Raises:
            UnknownNameError: a name that ``fit`` has not seen, with ``unseen="error"``.
        """
        triples, columns = self._triples(X, y)
        unknown = (triples < 0).any(1)
        if self.unseen == "error" and unknown.any():
            self._refuse(columns)
        run = self._run()
        return ranking.filtered_ranks(self.run_.scorer, run.kg, triples, run.candidates)

    def predict_triples(self, X: Any, y: Any = None) -> list[Fact]:
        """What the model makes of given facts; UnknownNameError as in :meth:`predict`."""
        ids = torch.stack(self._known_ids(self._triples(X, y)[1]), 1)
        run = self._run()
        asked = run.kg, self.run_.scorer, ids, run.list_probability()
        return judge_facts(*asked, candidates=run.candidates)

    def tail_relation_degree(self, X: Any, y: Any = None) -> Array:
        """Tail-relation degrees (n, 2) of the queries of :meth:`rank`; 0 for unseen names."""
        triples, _ = self._triples(X, y)
        return ranking.degrees(self.run_.kg, triples)

    def score(self, X: Any, y: Any = None) -> float:
        """Filtered MRR of triples, a mean over both queries of each.

        Raises:
            DataError: no triples.
            UnknownNameError: as :meth:`rank`.
        """
        ranks = self.rank(X, y)
        if not len(ranks):
            raise DataError("X has 0 sample(s): a mean needs at least one triple")
        return float((1 / ranks).mean())

    def transform(self, X: Any) -> Array:
        """Vectors (n, D, 2D or 3D): those of head, relation and, with three columns, tail.

        X has the columns that ``fit`` was given, or one of entities alone, (n, 1): their vectors
        are features for a later step, as in ``make_pipeline(FrozenEstimator(fitted), ...)``.

        Raises:
            UnknownNameError: a name that ``fit`` has not seen.
        """
        ids = self._known_ids(self._columns(X, (1, self.n_features_in_)))
        vectors = self.run_.scorer.vectors
        kinds = (vectors.entity, vectors.relation, vectors.entity)
        parts = [of(column) for of, column in zip(kinds, ids, strict=False)]
        with torch.no_grad():
            return torch.cat(parts, 1).cpu().numpy()

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Names of :meth:`transform`'s columns: head_0, …; for one input feature entity_0, … ."""
        check_is_fitted(self)
        one = input_features is not None and len(input_features) == 1
        roles = ("entity",) if one else ROLES[: self.n_features_in_]
        vectors = self.run_.scorer.vectors
        tables = {"relation": vectors.relations}
        sizes = [(role, tables.get(role, vectors.entities).shape[1]) for role in roles]
        names = [f"{role}_{i}" for role, size in sizes for i in range(size)]
        return np.asarray(names, dtype=object)

    def save(self, run: str | Path, *, overwrite: bool = False) -> None:
        """Write the training as a run folder for ``dglkgmix evaluate``, ``predict`` and so on.

        Raises:
            CheckpointError: the folder holds something and ``overwrite`` is not set.
        """
        check_is_fitted(self)
        self.run_.write(run, overwrite=overwrite)

    @classmethod
    def from_run(cls, run: str | Path, *, trust: bool = False) -> KGCompleter:
        """A fitted estimator from a run folder: of :meth:`save`, or of the command line.

        Names of a run of the command line are strings; else they are of ``fit``'s kind.

        ``trust`` lets the run name a class outside of dglkgmix that is not imported yet.

        Raises:
            CheckpointError: no run, a damaged one, or one that has not finished.
        """
        packed = PackedRun.pack(run, trust=trust)
        # Which run it started from is over; `warm_start` says what a further `fit` starts from.
        config = set_option(packed.config, "training.parent", "")
        completer = cls(**from_config(config), config=config)
        kinds = packed.input_kinds
        completer.classes_ = Names.stored(packed.kg.entities, kinds["entities"]).values
        completer.relations_ = Names.stored(packed.kg.relations, kinds["relations"]).values
        completer.n_features_in_ = features = kinds["features"]
        if isinstance(features, list):
            completer.n_features_in_ = len(features)
            completer.feature_names_in_ = np.array(features, dtype=object)
        completer.run_, completer.history_ = packed, packed.history
        return completer

    def _columns(self, X: Any, widths: tuple[int, ...]) -> list[Array]:
        check_is_fitted(self)
        columns = split_columns(X, widths)
        if len(columns) == self.n_features_in_:
            validate_data(self, X, reset=False, skip_check_array=True)
        elif len(columns) == 2 and hasattr(X, "columns") and hasattr(self, "feature_names_in_"):
            first = self.feature_names_in_[:2].tolist()
            if list(X.columns) != first:
                raise DataError(
                    f"X has the columns {list(X.columns)}, and heads and relations were {first} in "
                    "fit: name and order them alike"
                )
        return columns

    def _ids(self, columns: list[Array]) -> Array:
        """(n, 2 or 3); -1 for names that ``fit`` has not seen."""
        return ids_of(columns, Names(self.classes_), Names(self.relations_))

    def _triples(self, X: Any, y: Any) -> tuple[Array, list[Array]]:
        columns = with_tails(self._columns(X, (2, 3)), y)
        return self._ids(columns), columns

    def _known_ids(self, columns: list[Array]) -> list[torch.Tensor]:
        ids = self._ids(columns)
        if (ids < 0).any():
            self._refuse(columns)
        return list(torch.from_numpy(ids).T)

    def _refuse(self, columns: list[Array]) -> None:
        """UnknownNameError for the first name that ``fit`` has not seen, with close matches."""
        kg = self.run_.kg
        three = (kg.entities, kg.relations, kg.entities)
        for vocabulary, column, found in zip(three, columns, self._ids(columns).T, strict=False):
            for value in column[found < 0]:
                vocabulary.id(str(value))
                kind = "integers" if isinstance(value, str) else "strings"
                raise UnknownNameError(
                    f"{value!r} is no {vocabulary.kind} of the fitted triples; those are {kind}"
                )

    def _query_ids(self, X: Any) -> list[torch.Tensor]:
        return self._known_ids(self._columns(X, (2, 3))[:2])

    def _run(self) -> Run:
        """The run with the candidates that the parameter asks for."""
        return self.run_.among(self.candidates)

    def _blocks(
        self, heads: torch.Tensor, relations: torch.Tensor, among: Candidates | None = None
    ) -> Iterator[tuple[slice, Any]]:
        """Scores (B, E) of B rows at a time: memory does not grow with the number of rows.

        Entities that are not ``among`` the candidates have −inf.
        """
        scorer, entities = self.run_.scorer, len(self.classes_)
        size = max(1, min(BLOCK // entities, RUN))
        for start in range(0, len(heads), size):
            rows = slice(start, start + size)
            query = scorer.query(heads[rows], relations[rows])
            scores = scorer.scores(query, 0, entities).cpu()
            if among is not None and not among.everything:
                scores[~among.mask(relations[rows], 0, entities)] = -torch.inf
            yield rows, scores.numpy()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.target_tags.required = False
        return tags


KGCompleter.__init__.__signature__ = constructor()  # type: ignore[attr-defined]
