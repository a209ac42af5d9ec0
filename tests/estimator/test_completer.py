"""The estimator with scikit-learn's tools."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline

from dglkgmix.errors import ConfigError, DataError, NumericError, UnknownNameError
from dglkgmix.estimator import KGCompleter, low_degree_mrr
from dglkgmix.estimator.options import to_config
from dglkgmix.estimator.packed import PackedRun
from dglkgmix.evaluation.list_probability import FEATURES, ListProbability
from dglkgmix.evaluation.model_scorer import ModelScorer
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.training.launch import train
from tests.estimator.conftest import SMALL


def test_fitted_attributes(fitted, triples):
    assert fitted.classes_.tolist() == sorted({*triples[:, 0], *triples[:, 2]})
    assert fitted.relations_.tolist() == ["borders", "continent", "language"]
    assert fitted.n_features_in_ == 3
    assert not hasattr(fitted, "feature_names_in_")
    assert [row["epoch"] for row in fitted.history_] == [1, 2]
    assert fitted.run_.config.model.decoder == "distmult"


def test_mirrors_are_held_out_together(fitted):
    """Case 51: borders are there in both directions."""
    kg = fitted.run_.kg
    train = {tuple(row) for row in kg.train.tolist()}
    held = [row for row in kg.valid.tolist() if kg.relations[row[1]] == "borders"]
    assert len(held) > 0
    assert not any((t, r, h) in train for h, r, t in held)


def test_scores_are_the_models(fitted):
    queries = [["country 3", "borders"], ["country 1", "language"]]
    tables = dict(fitted.run_.model.encoder.named_parameters())
    entity, relation = tables["entity_table"].detach(), tables["relation_table"].detach()
    heads = [fitted.classes_.tolist().index(name) for name, _ in queries]
    expected = (entity[heads] * relation[[0, 2]]) @ entity.T  # DistMult by hand
    scores = fitted.decision_function(queries)
    assert np.allclose(scores, expected.numpy(), atol=1e-6)
    assert fitted.predict(queries).tolist() == fitted.classes_[scores.argmax(1)].tolist()


def test_probabilities_are_platts(fitted):
    queries = [["country 3", "borders"]]
    platt = fitted.run_.metrics["platt"]
    logits = platt["scale"] * fitted.decision_function(queries) + platt["offset"]
    assert np.allclose(fitted.predict_proba(queries), 1 / (1 + np.exp(-logits)))


def test_ranked_answers_have_probabilities_of_their_list(fitted, monkeypatch):
    """By score alone: what fit has seen and what stands after the list has none."""
    monkeypatch.setattr("dglkgmix.evaluation.shortlist.DEPTH", 3)
    listed = ListProbability(-1.0, tuple(float(name == "score") for name in FEATURES), {})
    monkeypatch.setattr(PackedRun, "list_probability", lambda self: listed)
    query = [["country 3", "borders"]]
    found = fitted.top_k(query, len(fitted.classes_))
    fresh = ~np.isin(found.tails[0].astype(str), ["country 2", "country 4"])
    places = np.flatnonzero(fresh)[:3]
    expected = np.full(len(fitted.classes_), np.nan)
    expected[places] = 1 / (1 + np.exp(1 - found.scores[0, places]))
    assert found.probabilities[0] == pytest.approx(expected, nan_ok=True)
    new = fitted.top_k(query, len(fitted.classes_), new_only=True)
    assert new.probabilities[0, :3] == pytest.approx(expected[places])
    assert np.isnan(new.probabilities[0, 3:]).all()


def test_top_k_leaves_known_answers_out(fitted, triples):
    query = [["country 3", "borders"]]
    everything = fitted.top_k(query, len(fitted.classes_))
    assert sorted(everything.tails[0]) == sorted(fitted.classes_)
    assert (np.diff(everything.scores[0]) <= 0).all()
    fresh = fitted.top_k(query, len(fitted.classes_), new_only=True)
    known = {"country 2", "country 4"}
    assert fresh.tails[0].tolist()[-2:] == [None, None]
    assert np.isnan(fresh.scores[0, -2:]).all()
    assert set(fresh.tails[0]) - {None} == set(fitted.classes_) - known
    with pytest.raises(ConfigError, match="k must be a whole number from 1, not 0"):
        fitted.top_k(query, 0)
    # As `predict --top` does: no more answers than there are.
    for new_only, expected in ((False, everything), (True, fresh)):
        most = fitted.top_k(query, 10**9, new_only=new_only)
        for found, same in zip(most, expected, strict=True):
            assert pd.DataFrame(found).equals(pd.DataFrame(same))


@pytest.mark.parametrize("rows", [1, 3, 7])
def test_blocks_predict_what_single_queries_do(fitted, triples, monkeypatch, rows):
    """Case 55: no more scores are held at once, and row by row the answers are the same."""
    held = []
    scores = ModelScorer.scores

    def spied(self, query, start, stop):
        held.append(len(query))
        return scores(self, query, start, stop)

    alone = [fitted.top_k([row], 3, new_only=True) for row in triples]
    best = [fitted.predict([row])[0] for row in triples]
    monkeypatch.setattr(ModelScorer, "scores", spied)
    monkeypatch.setattr("dglkgmix.estimator.completer.BLOCK", rows * len(fitted.classes_))
    found = fitted.top_k(triples, 3, new_only=True)
    assert fitted.predict(triples).tolist() == best
    assert (found.tails == np.concatenate([one.tails for one in alone])).all()
    for name in ("scores", "probabilities"):
        expected = np.concatenate([getattr(one, name) for one in alone])
        np.testing.assert_allclose(getattr(found, name), expected, atol=1e-6)
    assert fitted.decision_function(triples).shape == (len(triples), len(fitted.classes_))
    assert max(held) == rows
    assert fitted.predict(triples[:0]).shape == (0,)
    assert fitted.top_k(triples[:0], 3).tails.shape == (0, 3)


def test_rank_and_score_follow_each_other(fitted, triples):
    ranks = fitted.rank(triples)
    assert ranks.shape == (len(triples), 2)
    assert (ranks >= 1).all()
    assert fitted.score(triples) == pytest.approx((1 / ranks).mean())
    assert (fitted.rank(triples[:, :2], triples[:, 2]) == ranks).all()


def test_given_facts_agree_with_ranks_and_degrees(fitted, triples):
    found = fitted.predict_triples(triples)
    sides = [[fact.directions[end] for end in ("tail", "head")] for fact in found]
    assert [[side.rank for side in pair] for pair in sides] == fitted.rank(triples).tolist()
    degrees = [[side.degree for side in pair] for pair in sides]
    assert degrees == fitted.tail_relation_degree(triples).tolist()
    assert [(fact.head, fact.relation, fact.tail) for fact in found] == list(map(tuple, triples))
    assert {name for fact in found for name in fact.splits} == {"train", "valid"}
    with pytest.raises(UnknownNameError, match="'nowhere'"):
        fitted.predict_triples([["nowhere", "borders", "country 1"]])


def test_integers_come_back_as_integers():
    rows = np.array([[10 * i, 0, 10 * ((i + 1) % 9)] for i in range(9)] * 2)
    rows[9:, 1] = 5
    fitted = KGCompleter(**SMALL).fit(rows)
    assert fitted.classes_.dtype.kind == "i"
    assert fitted.relations_.tolist() == [0, 5]
    assert fitted.predict([[20, 5]]).dtype.kind == "i"
    assert fitted.top_k([[20, 5]], 2).tails[0, 0] in range(0, 90, 10)


def test_two_columns_and_y_are_three_columns(fitted, triples):
    other = KGCompleter(**SMALL).fit(triples[:, :2], triples[:, 2])
    assert other.n_features_in_ == 2
    assert (other.decision_function(triples[:4, :2]) == fitted.decision_function(triples[:4])).all()


def test_frames_keep_their_names(triples):
    frame = pd.DataFrame(triples, columns=["from", "how", "to"])
    fitted = KGCompleter(**SMALL).fit(frame)
    assert fitted.feature_names_in_.tolist() == ["from", "how", "to"]
    with pytest.raises(ValueError, match="feature names"):
        fitted.transform(frame.rename(columns={"to": "other"}))


def test_transform_gives_vectors_and_frames(fitted, triples):
    vectors = fitted.transform(triples[:2])
    assert vectors.shape == (2, 24)
    table = dict(fitted.run_.model.encoder.named_parameters())["entity_table"].detach().numpy()
    head = fitted.classes_.tolist().index(triples[0, 0])
    assert (vectors[0, :8] == table[head]).all()
    frame = clone(fitted).set_output(transform="pandas").fit(triples).transform(triples[:2])
    assert list(frame.columns) == fitted.get_feature_names_out().tolist()
    assert frame.columns[0] == "head_0"
    assert frame.columns[-1] == "tail_7"


def test_entities_alone_are_features_of_a_later_step(fitted, triples):
    names = fitted.classes_[[4, 0, 4]].reshape(-1, 1)
    table = dict(fitted.run_.model.encoder.named_parameters())["entity_table"].detach().numpy()
    assert (fitted.transform(names) == table[[4, 0, 4]]).all()
    assert (fitted.transform(pd.DataFrame({"who": names[:, 0]})) == table[[4, 0, 4]]).all()
    with pytest.raises(UnknownNameError, match="nowhere"):
        fitted.transform([["nowhere"]])
    frame = pd.DataFrame({"who": triples[:12, 0], "size": range(12)})
    vectors = ColumnTransformer([("kg", FrozenEstimator(fitted), ["who"])], remainder="passthrough")
    model = make_pipeline(vectors, LogisticRegression()).fit(frame, np.arange(12) % 2)
    assert model.predict(frame).shape == (12,)
    assert model[:-1].get_feature_names_out().tolist() == [
        *(f"kg__entity_{i}" for i in range(8)),
        "remainder__size",
    ]


def test_weights_of_one_change_nothing_and_others_do(fitted, triples):
    ones = KGCompleter(**SMALL).fit(triples, sample_weight=np.ones(len(triples)))
    assert np.allclose(
        ones.decision_function(triples[:5]), fitted.decision_function(triples[:5]), atol=1e-6
    )
    heavy = np.where(triples[:, 1] == "continent", 50.0, 0.0)
    other = KGCompleter(**{**SMALL, "epochs": 20}).fit(triples, sample_weight=heavy)
    light = KGCompleter(**{**SMALL, "epochs": 20}).fit(triples)
    chosen = triples[triples[:, 1] == "continent"]
    assert other.score(chosen) >= light.score(chosen)
    for wrong in (["a"], [1.0], [-1.0] * len(triples), [np.nan] * len(triples), [0] * len(triples)):
        with pytest.raises(DataError, match="sample_weight"):
            KGCompleter(**SMALL).fit(triples, sample_weight=wrong)


def test_unfitted_and_wrong_input(triples, fitted):
    with pytest.raises(NotFittedError):
        KGCompleter().predict(triples)
    with pytest.raises(ConfigError, match="unseen"):
        KGCompleter(unseen="guess").fit(triples)
    for wrong in (1, "0.1"):
        with pytest.raises(ConfigError, match="validation"):
            KGCompleter(validation=wrong).fit(triples)
    with pytest.raises(DataError, match="pass the tails as y"):
        KGCompleter(**SMALL).fit(triples[:, :2])
    with pytest.raises(DataError, match="leave y out"):
        KGCompleter(**SMALL).fit(triples, triples[:, 2])
    with pytest.raises(DataError, match="nothing to fit"):
        KGCompleter(**SMALL).fit(triples[:0])


def test_a_fit_that_fails_leaves_the_one_before_it(triples):
    model = KGCompleter(**SMALL).fit(triples)
    before = model.decision_function(triples[:4])
    more = np.vstack([triples, [["aaa", "borders", "country 1"]]])
    with pytest.raises(DataError, match="sample_weight"):
        model.fit(more, sample_weight=[1.0])
    with pytest.raises(NumericError):
        model.set_params(lr=1e38).fit(more)
    assert np.array_equal(model.decision_function(triples[:4]), before)


def test_two_columns_of_a_frame_are_named_as_in_fit(triples):
    frame = pd.DataFrame(triples, columns=["who", "how", "whom"])
    model = KGCompleter(**SMALL).fit(frame)
    assert model.predict(frame[["who", "how"]]).shape == (len(frame),)
    with pytest.raises(DataError, match=r"\['whom', 'how'\], and .* were \['who', 'how'\] in fit"):
        model.predict(frame[["whom", "how"]])


def test_probabilities_do_not_depend_on_what_is_left_out(fitted, triples, tmp_path, monkeypatch):
    """A fact of a test split, which `fit` has not, is among the answers until it is left out."""
    listed = ListProbability(0.0, tuple(float(name == "share") for name in FEATURES), {})
    monkeypatch.setattr(PackedRun, "list_probability", lambda self: listed)
    rest, held = triples[1:], triples[:1]
    kg = KnowledgeGraph.from_names(map(tuple, rest), [], map(tuple, held))
    train(kg, to_config(fitted.get_params(deep=False)), tmp_path / "run")
    model = KGCompleter.from_run(tmp_path / "run")
    plain, new = (model.top_k(held[:, :2], 20, new_only=only) for only in (False, True))
    chances = [
        dict(zip(found.tails[0].tolist(), found.probabilities[0].tolist(), strict=True))
        for found in (plain, new)
    ]
    assert chances[0].pop(held[0, 2]) > 0
    left = {name: chance for name, chance in chances[0].items() if not np.isnan(chance)}
    assert len(left) > 10
    assert left == {name: chances[1][name] for name in left}


def test_misspelt_names_get_close_matches(fitted):
    with pytest.raises(UnknownNameError, match="country 1"):
        fitted.predict([["contry 1", "borders"]])
    with pytest.raises(UnknownNameError, match="relation"):
        fitted.predict([["country 1", "bordrs"]])


def test_unseen_names_of_a_fold(fitted, triples):
    row = [["nowhere", "borders", "country 2"]]
    count = len(fitted.classes_)
    assert fitted.rank(row).tolist() == [[(count + 1) / 2, (count + 2) / 2]]
    strict = pickle.loads(pickle.dumps(fitted)).set_params(unseen="error")
    with pytest.raises(UnknownNameError, match="nowhere"):
        strict.rank(row)


def test_no_held_out_triples_no_probabilities(triples):
    fitted = KGCompleter(**SMALL, validation=0).fit(triples)
    assert len(fitted.run_.kg.train) == len(triples)
    assert np.isnan(fitted.top_k(triples[:1], 2).probabilities).all()
    with pytest.raises(ConfigError, match="validation > 0"):
        fitted.predict_proba(triples[:1])


def test_a_warm_start_keeps_vectors_by_name_and_a_plain_fit_draws_them_anew(
    triples, tmp_path, capsys
):
    still = {**SMALL, "lr": 1e-12, "epochs": "auto"}
    warm = KGCompleter(**still, warm_start=True).fit(triples)
    queries = [["country 3"], ["continent 1"]]
    before = warm.transform(queries)
    more = np.vstack([[["atlantis", "borders", "country 3"]], triples])  # "atlantis" comes first.
    warm.set_params(verbose=True).fit(more)
    told = capsys.readouterr().err
    entities = len(warm.classes_)
    assert f"Starting from the earlier fit, which knows {entities - 1} of {entities} ent" in told
    assert "dglkgmix-" not in told
    assert warm.classes_[0] == "atlantis"
    assert np.allclose(warm.transform(queries), before)
    assert warm.run_.new_entities == {"atlantis"}
    usual = KGCompleter(**still).fit(more)
    assert not np.allclose(usual.transform(queries), before)
    assert warm.run_.config.training.epochs == -(-usual.run_.config.training.epochs // 4)
    warm.save(tmp_path / "second")
    again = KGCompleter.from_run(tmp_path / "second")
    assert np.allclose(again.set_params(warm_start=True).fit(more).transform(queries), before)
    assert not np.allclose(again.set_params(warm_start=False).fit(more).transform(queries), before)


def test_clone_is_unfitted_with_the_same_parameters(fitted):
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "classes_")


def test_grid_search_refit_pickle_and_a_new_process(triples, tmp_path, run_python):
    grid = {"strategy": ["standard", "mixup"], "threshold": [3, 5]}
    splits = KFold(2, shuffle=True, random_state=1)
    search = GridSearchCV(KGCompleter(**SMALL), grid, cv=splits, scoring=low_degree_mrr)
    search.fit(triples)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    path = tmp_path / "best.pickle"
    path.write_bytes(pickle.dumps(search.best_estimator_))
    program = (
        "import pickle, sys\n"
        "best = pickle.load(open(sys.argv[1], 'rb'))\n"
        "print(best.decision_function([['country 3', 'borders']]).tobytes().hex())\n"
    )
    done = run_python(program, path)
    mine = search.best_estimator_.decision_function([["country 3", "borders"]])
    assert done.stdout.strip() == mine.tobytes().hex()


@pytest.mark.parametrize("kind", ["integers", "strings", "a frame", "two columns"])
def test_a_saved_estimator_is_equal_to_the_fitted_one(kind, triples, tmp_path):
    """Case 53: integer names and relations come back as integers."""
    ids = np.unique(triples, return_inverse=True)[1].reshape(-1, 3) + 10**9
    X = {"integers": ids, "strings": triples, "two columns": ids[:, :2]}.get(kind)
    if kind == "a frame":
        X = pd.DataFrame({"h": triples[:, 0], "r": ids[:, 1], "t": triples[:, 2]})
    mine = KGCompleter(**SMALL).fit(X, ids[:, 2] if kind == "two columns" else None)
    mine.save(tmp_path / "run")
    back = KGCompleter.from_run(tmp_path / "run")
    back.save(tmp_path / "again")
    for other in (back, KGCompleter.from_run(tmp_path / "again")):
        assert other.classes_.dtype == mine.classes_.dtype
        assert other.classes_.tolist() == mine.classes_.tolist()
        assert other.relations_.tolist() == mine.relations_.tolist()
        assert other.predict(X[:5]).tolist() == mine.predict(X[:5]).tolist()
        assert other.n_features_in_ == mine.n_features_in_
        assert other.transform(X[:2]).tolist() == mine.transform(X[:2]).tolist()
        assert (clone(other).model, clone(other).epochs) == ("distmult", 2)


def test_a_frame_of_integer_relations_answers_a_list(triples):
    """Case 50."""
    frame = pd.DataFrame({"h": triples[:, 0], "r": 7, "t": triples[:, 2]})
    fitted = KGCompleter(**SMALL).fit(frame)
    assert (
        fitted.predict([["country 3", 7]]).tolist()
        == fitted.predict(frame[frame.h == "country 3"].iloc[:1]).tolist()
    )
    with pytest.raises(
        UnknownNameError, match=r"'7' is no relation of the fitted .* those are integers"
    ):
        fitted.predict([["country 3", "7"]])


def test_the_seed_decides(triples, fitted):
    same, other = KGCompleter(**SMALL).fit(triples), KGCompleter(**SMALL, seed=1).fit(triples)
    assert (same.decision_function(triples[:3]) == fitted.decision_function(triples[:3])).all()
    assert (other.decision_function(triples[:3]) != fitted.decision_function(triples[:3])).any()


def test_no_triples_have_no_score(fitted, triples):
    assert fitted.rank(triples[:0]).shape == (0, 2)
    with pytest.raises(DataError, match="at least one triple"):
        fitted.score(triples[:0])


@pytest.mark.parametrize("rule", ["nope", "node-types"])
def test_candidates_that_the_graph_cannot_have_are_refused_before_the_training(rule):
    model = KGCompleter(candidates=rule, epochs=1)
    with pytest.raises(ConfigError, match=f"candidates.*'{rule}'"):
        model.fit([("a", "r", "b"), ("b", "r", "c")])
    assert not hasattr(model, "run_")


def test_candidates_alone_answer_and_are_ranked(fitted):
    """Training leads by *continent* to three entities."""
    observed = clone(fitted).set_params(candidates="observed")
    observed.__dict__ |= {k: v for k, v in vars(fitted).items() if k.endswith("_")}
    asked = [["country 1", "continent"]]
    best = observed.top_k(asked, 30).tails[0]
    assert {name for name in best if name is not None} == {f"continent {i}" for i in range(3)}
    assert observed.predict(asked)[0] in best
    entities = len(fitted.classes_)
    assert observed.rank([["country 1", "continent", "country 2"]])[0, 0] == entities - 1
    assert (observed.rank([["country 1", "continent", "continent 2"]])[0, 0] <= 2).all()
