import numpy as np
import pyarrow as pa
import pytest

from dglkgmix.evaluation.rank_table import SCHEMA, RankTable
from dglkgmix.files import RunFolder
from dglkgmix.kg.graph import KnowledgeGraph
from dglkgmix.models.link_predictor import LinkPredictor
from dglkgmix.run import Run
from dglkgmix.training import run_files
from dglkgmix.training.config import Config, DataConfig
from dglkgmix.training.config_io import set_option
from dglkgmix.training.defaults import resolve
from dglkgmix.training.history import Row
from dglkgmix.training.results import write_results
from dglkgmix.training.stage_state import Selection


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
        zeros = {name: [0] * count for name in SCHEMA.names}
        data = zeros | defaults | columns
        return RankTable(
            pa.table(
                {name: pa.array(data[name]).cast(SCHEMA.field(name).type) for name in data},
                schema=None,
            )
            .select(SCHEMA.names)
            .cast(SCHEMA)
        )

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
    """Make a finished run with random weights: a report needs no good model."""

    def make(name, seed=0, kg=None, **options):
        kg = kg or small_graph
        config = Config(data=DataConfig(source="small"))
        options = {"model.decoder": "distmult", "model.entity_dim": 8} | options
        for option, value in (options | {"runtime.seed": seed}).items():
            config = set_option(config, option, value)
        config = resolve(config, kg)
        model = LinkPredictor.build(config.model, kg, seed=seed).eval()
        path = tmp_path_factory.mktemp("runs") / name
        with RunFolder.create(path) as folder:
            run_files.write_graph(folder, kg)
            run_files.write_config(folder, config)
            selection = Selection(dict(model.state_dict()), 2, 0.25)
            write_results(folder, kg, model, selection, history=HISTORY, block=2**20)
        return Run.open(path)

    return make


def row(stage, epoch, loss, valid_mrr):
    zeros = dict.fromkeys(("kg_loss", "synthetic_loss", "lr", "gradient_norm"), 0.0)
    counts = {"synthetic_samples": 0, "positives": 7, "batches": 5}
    return Row(
        stage=stage,
        epoch=epoch,
        loss=loss,
        valid_mrr=valid_mrr,
        seconds=0.5,
        gradient_norm_max=0.0,
        **zeros,
        **counts,
    )


HISTORY = [row("pretrain", 1, 3.0, None), row("train", 1, 2.0, 0.125), row("train", 2, 1.0, 0.25)]


@pytest.fixture(scope="session")
def run(make_run):
    return make_run("one")


@pytest.fixture(scope="session")
def other_run(make_run):
    return make_run("two_<i>$x$", seed=1, **{"strategy.name": "focal", "training.loss": "ce"})
