import numpy as np
import pyarrow as pa
import pytest

from dglkgmix.config import Config, DataConfig
from dglkgmix.config.toml import set_option
from dglkgmix.evaluation.popularity import PopularityScorer
from dglkgmix.evaluation.rank_table import SCHEMA, RankTable, rank_split
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.runs.run import Run
from dglkgmix.training.launch import train


@pytest.fixture(scope="session")
def make_table():
    """Make a rank table from the columns that a test cares about."""

    def make(**columns):
        count = len(columns["rank"])
        names = [f"e{i}" for i in range(count)]
        defaults = {
            "head": names,
            "relation": ["r"] * count,
            "tail": names,
            "direction": ["tail"] * count,
            "score": np.zeros(count),
            "rank_optimistic": columns["rank"],
            "rank_pessimistic": columns["rank"],
            "candidates": [100] * count,
        }
        data = {name: [0] * count for name in SCHEMA.names} | defaults | columns
        arrays = {field.name: pa.array(data[field.name]).cast(field.type) for field in SCHEMA}
        return RankTable(pa.table(arrays, schema=SCHEMA))

    return make


@pytest.fixture(scope="session")
def small_graph():
    """40 entities, three relations (one with a name that HTML would read as a tag)."""
    rng = np.random.default_rng(0)
    relations = ["borders", "<b>likes</b>", "$in$ _"]
    rows = {
        (f"e{int(rng.zipf(1.5)) % 40} & co", relations[int(r)], f"e{int(rng.zipf(1.6)) % 40} & co")
        for r in rng.integers(0, 3, 500)
    }
    rows = sorted(rows)
    rng.shuffle(rows)
    return KnowledgeGraph.from_names(rows[:-60], rows[-60:-30], rows[-30:])


@pytest.fixture(scope="session")
def make_run(small_graph, tmp_path_factory):
    """Make a run of three epochs: a report needs no good model."""

    def make(name, seed=0, kg=None, **options):
        config = Config(data=DataConfig(source="small"))
        options = SETTINGS | options | {"runtime.seed": seed}
        for option, value in options.items():
            config = set_option(config, option, value)
        path = tmp_path_factory.mktemp("runs") / name
        with pytest.MonkeyPatch.context() as patch:
            # The graph has few validation triples.
            patch.setattr("dglkgmix.evaluation.list_probability.FEWEST", 5)
            train(kg or small_graph, config, path)
        return Run.open(path)

    return make


def popularity(run):
    """Ranks of the test split by popularity alone."""
    return rank_split(PopularityScorer(run.kg), run.kg, "test", candidates=run.candidates)


SETTINGS = {
    "model.decoder": "distmult",
    "training.optimizer": "adam",
    "model.entity_dim": 8,
    "training.epochs": 2,
    "training.batch_size": 32,
    "training.validate_every": 1,
    "pretrain.enabled": True,
    "pretrain.epochs": 1,
    "runtime.threads": 1,
}


@pytest.fixture(scope="session")
def run(make_run):
    return make_run("one")


@pytest.fixture(scope="session")
def other_run(make_run):
    return make_run("two_<i>$x$", seed=1, **{"strategy.name": "focal", "training.loss": "ce"})
