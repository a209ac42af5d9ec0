"""Model selection by the low bin on the bundled graph."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV, KFold

from dglkgmix.datasets import path
from dglkgmix.estimator import KGCompleter, low_degree_mrr


@pytest.mark.long
def test_grid_over_strategy_and_threshold_on_world(tmp_path):
    lines = (path("world") / "train.txt").read_text(encoding="utf-8").splitlines()
    triples = np.array([line.split("\t") for line in lines], dtype=object)
    search = GridSearchCV(
        KGCompleter(model="distmult", loss="ce", lr=0.003, epochs=8, batch_size=128),
        {"strategy": ["standard", "mixup"], "threshold": [3, 5]},
        cv=KFold(3, shuffle=True, random_state=0),
        scoring=low_degree_mrr,
    ).fit(triples)
    scores = search.cv_results_["mean_test_score"]
    # Chance is about ln(E) / E = 0.005 over 1,395 entities.
    assert (scores > 0.05).all()
    stored = tmp_path / "best.pickle"
    stored.write_bytes(pickle.dumps(search.best_estimator_))
    program = (
        "import pickle, sys\n"
        "best = pickle.load(open(sys.argv[1], 'rb'))\n"
        "print('\\n'.join(best.predict([['Germany', 'capital'], ['Peru', 'borders']])))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(stored)], capture_output=True, text=True, check=True
    )
    mine = search.best_estimator_.predict([["Germany", "capital"], ["Peru", "borders"]])
    assert done.stdout.splitlines() == mine.tolist()
