import random

import pytest

from dglkgmix.experiments.execute import Job, load_graph
from dglkgmix.experiments.grid import parse_experiment
from dglkgmix.experiments.plan import make_plan

# Four strategies, two seeds; one pre-training for two-stage and mixup.
TEXT = """
[experiment]
name = "tiny_test"
about = "what is *tested*"
seeds = [0, 1]
distances = true
bins = [1, 3]
[grid]
data = ["DATA"]
model = ["distmult"]
strategy = ["standard", "two-stage", "mixup", "broken"]
[settings]
runtime.threads = 1
model.entity_dim = 4
training.epochs = 2
training.batch_size = 16
training.validate_every = 1
training.regime = "1-k"
pretrain.regime = "1-n"
pretrain.epochs = 1
swa.start = 1
swa.every = 1
[variants.two-stage]
strategy.name = "standard"
pretrain.enabled = true
[variants.broken]
strategy.name = "standard"
training.lr = 1e30
[[comparisons]]
of = { strategy = "mixup" }
against = { strategy = "two-stage" }
"""


@pytest.fixture(scope="session", autouse=True)
def no_waiting_for_the_disk():
    """Power cuts are other tests' business; waiting for the disk takes most of the time here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda descriptor: None)
        yield


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """A folder with a graph of 15 entities, three relations and 60 triples."""
    folder = tmp_path_factory.mktemp("data") / "tiny"
    folder.mkdir()
    rng = random.Random(0)
    every = [(h, r, t) for h in range(15) for r in range(3) for t in range(15) if h != t]
    rows = [f"e{h}\tr{r}\te{t}\n" for h, r, t in rng.sample(every, 60)]
    for split, part in (("train", rows[:44]), ("valid", rows[44:52]), ("test", rows[52:])):
        (folder / f"{split}.txt").write_text("".join(part))
    return folder


@pytest.fixture(scope="session")
def text(data):
    return TEXT.replace("DATA", str(data))


@pytest.fixture(scope="session")
def plan(text):
    return make_plan(parse_experiment(text), load_graph)


@pytest.fixture(scope="session")
def done(plan, text, tmp_path_factory):
    """The experiment, run to its end: its folder, results.json's content and what was said."""
    from dglkgmix.experiments.runner import run_experiment

    out = tmp_path_factory.mktemp("experiments") / "done"
    said = []
    found = run_experiment(plan, text, out, quiet=True, say=said.append)
    return out, found, said


@pytest.fixture(scope="session")
def job(plan, done):
    return Job(done[0], plan.trainings, (1, 3), distances=True, quiet=True)
