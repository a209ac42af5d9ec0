import json
from pathlib import Path

import pytest

from dglkgmix.config import Config, ModelConfig
from dglkgmix.config.toml import differences
from dglkgmix.errors import ConfigError, UnknownNameError
from dglkgmix.experiments.recipes import (
    all_recipes,
    load_recipe,
    packaged,
    packaged_text,
    paper_numbers,
    read_recipe,
    recipe_names,
    recipe_text,
)

MODELS, GRAPHS = ("conve", "tucker"), ("fb15k-237", "nell-995", "codex-m")
STRATEGIES = ("standard", "mixup", "oversample", "reweight", "focal")
TABLES = Path(__file__).resolve().parents[3] / "shared" / "paper" / "tables.json"

OURS = (
    *("codex-m-complex", "codex-s-complex", "codex-s-conve", "codex-s-tucker"),
    *("fb15k-237-complex", "fb15k-237-conve", "nell-995-complex", "wn18rr-complex"),
)


@pytest.fixture(scope="module")
def tables():
    if not TABLES.exists():
        pytest.skip(f"shared data absent: {TABLES}")
    return json.loads(TABLES.read_text())


def paper_cells():
    return [(m, d, s) for m in MODELS for d in GRAPHS for s in STRATEGIES]


def test_every_cell_of_the_paper_has_a_recipe():
    names = {f"{data}-{model}-{strategy}" for model, data, strategy in paper_cells()}
    assert names | set(OURS) <= set(recipe_names())
    for config in map(load_recipe, OURS):
        assert config.training.regime == "1-n"
        assert config.pretrain.enabled is False
        assert not config.swa.enabled or config.swa.start < config.training.epochs
    for model, data, strategy in paper_cells():
        config = load_recipe(f"{data}-{model}-{strategy}")
        assert (config.data.source, config.model.decoder) == (data, model)
        assert config.strategy.name == strategy
        assert config.pretrain.enabled is config.swa.enabled is (strategy == "mixup")
        # The reference smooths with mass one and leaves NELL unfiltered.
        assert config.training.smoothing_mass == 1.0
        for stage in [config.training] + [config.pretrain] * (strategy == "mixup"):
            assert stage.regime == "1-n" or stage.filtered is (data != "nell-995")


def test_values_typed_from_the_appendix():
    conve = load_recipe("fb15k-237-conve-mixup")
    assert (conve.training.lr, conve.training.epochs, conve.training.regime) == (1e-4, 400, "1-k")
    assert (conve.pretrain.lr, conve.pretrain.regime, conve.pretrain.epochs) == (1e-3, "1-n", 500)
    assert (conve.swa.start, conve.swa.every, conve.swa.lr) == (10, 10, 5e-4)
    assert (conve.strategy.threshold, conve.strategy.partners) == (5, 5)
    assert conve.model.height == 20
    tucker = load_recipe("nell-995-tucker-mixup")
    assert (tucker.strategy.threshold, tucker.strategy.synthetic_weight) == (25, 0.01)
    assert tucker.model.relation_dim == 100
    assert tucker.swa.every == 20
    assert load_recipe("codex-m-tucker-mixup").model.bias is False


def test_expected_is_the_papers_mrr(tables):
    for model, data, strategy in paper_cells():
        recipe = read_recipe(f"{data}-{model}-{strategy}")
        assert recipe.expected == pytest.approx(tables["main"][model][strategy][data]["mrr"] / 100)
        assert recipe.expected_from == "paper"


def check_stage(stage, model, wanted):
    assert stage.regime == wanted["regime"]
    assert stage.lr == wanted["lr"]
    assert stage.lr_decay == (wanted.get("lr_decay") or 1.0)
    assert stage.label_smoothing == wanted["label_smoothing"]
    assert (stage.epochs, stage.patience) == (wanted["epochs"], wanted["patience"])
    assert (stage.validate_every, stage.batch_size) == (wanted["validate_every"], 128)
    if stage.regime == "1-k":
        assert stage.negatives == 100
    for key in wanted:
        if "dropout" in key and not key.endswith("_paper"):
            assert getattr(model, key) == wanted[key]


@pytest.mark.parametrize(("model", "data"), [(m, d) for m in MODELS for d in GRAPHS])
def test_stages_have_the_tables_hyper_parameters(model, data, tables):
    mixup, pretrain = (tables["hyperparameters"][k][model][data] for k in ("mixup", "pretrain"))
    config = load_recipe(f"{data}-{model}-mixup")
    check_stage(config.training, config.model, mixup)
    check_stage(config.pretrain, config.pretrain, pretrain)
    assert config.strategy.threshold == mixup["threshold"]
    assert config.strategy.synthetic_weight == mixup["synthetic_weight"]
    assert config.swa.lr == mixup["swa_lr"]
    for recipe in (config, load_recipe(f"{data}-{model}-standard")):
        assert recipe.model.entity_dim == 200
        assert recipe.model.relation_dim == mixup.get("relation_dim", 200)
        assert recipe.model.bias is mixup.get("bias", True)
    standard = load_recipe(f"{data}-{model}-standard")
    check_stage(standard.training, standard.model, pretrain)


@pytest.mark.parametrize(("model", "data"), [(m, d) for m in MODELS for d in GRAPHS])
def test_baselines_change_the_standard_recipe_only_as_the_reference_does(model, data):
    standard = load_recipe(f"{data}-{model}-standard")
    regime = {}
    if standard.training.regime == "1-k":  # What 1-N does not read goes back to its default.
        regime = {"training.regime": ("1-k", "1-n"), "training.negatives": (100, "auto")}
        if data == "nell-995":
            regime["training.filtered"] = (False, True)
    changes = {
        "oversample": {"strategy.name": ("standard", "oversample"), "strategy.threshold": (5, 10)},
        "reweight": {
            "strategy.name": ("standard", "reweight"),
            "training.reduction": ("sum", "mean"),
        },
        "focal": {
            "strategy.name": ("standard", "focal"),
            "strategy.gamma": (2.0, 1.0),
            "strategy.focal_detach": (False, True),
            "training.reduction": ("sum", "mean"),
        },
    }
    for strategy, wanted in changes.items():
        baseline = load_recipe(f"{data}-{model}-{strategy}")
        assert differences(standard, baseline) == regime | wanted


def test_rows_are_filled():
    rows = {recipe.name: recipe.row() for recipe in all_recipes()}
    assert rows["fb15k-237-conve-mixup"]["expected"] == 0.3433
    assert all(row["about"] and row["data"] for row in rows.values())


def test_an_unknown_name_comes_with_close_matches():
    with pytest.raises(UnknownNameError, match="unknown recipe 'codex-s-conv'; did you mean codex"):
        load_recipe("codex-s-conv")
    with pytest.raises(UnknownNameError, match="see `dglkgmix recipes`"):
        load_recipe("zzzz")


def write(tmp_path, text):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    return str(path)


def test_a_file_is_a_recipe_too(tmp_path):
    path = write(tmp_path, '[model]\nencoder = "rgcn"\ndecoder = "distmult"\n')
    recipe = read_recipe(path)
    assert recipe.config == Config(model=ModelConfig(encoder="rgcn", decoder="distmult"))
    assert recipe.row()["model"] == "rgcn+distmult"
    assert (recipe.name, recipe.expected) == ("mine", None)
    assert recipe_text(path).startswith("[model]")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[recipe]\nabuot = 'x'", r"\[recipe\]: unknown key 'abuot'; did you mean about"),
        ("[recipe]\nexpected = 0.3", "expected and expected_from go together"),
        ("[recipe]\nexpected = 3\nexpected_from = 'paper'", "expected must be a number"),
        ("[recipe]\nexpected = 0.3\nexpected_from = 'us'", 'must be "paper" or "measured"'),
        ("[trianing]\nlr = 1", r"mine\.toml: unknown table \[trianing\]; did you mean training"),
        ("[training]\nlr = 'x'", "training.lr"),
    ],
)
def test_a_wrong_recipe_file_is_refused(tmp_path, text, message):
    with pytest.raises(ConfigError, match=message):
        read_recipe(write(tmp_path, text))


@pytest.mark.parametrize(
    ("kind", "name", "near"),
    [("experiments", "paper-main", "paper-mian"), ("spaces", "paper-conve", "paper-conv")],
)
def test_files_are_found_and_misspelt_names_get_a_hint(tmp_path, kind, name, near):
    assert name in packaged(kind)
    path = write(tmp_path, packaged_text(kind, name))
    assert packaged_text(kind, path) == packaged_text(kind, name)
    with pytest.raises(ConfigError, match=f"neither a file nor a packaged .*; did you mean {name}"):
        packaged_text(kind, near)
    with pytest.raises(ConfigError, match=r"none\.toml: cannot be read"):
        packaged_text(kind, "none.toml")


def test_numbers_typed_from_the_paper():
    conve = paper_numbers("fb15k-237", "conve", "mixup")
    assert conve["overall.mrr"] == 0.3433
    assert conve["bins.zero.mrr"] == 0.109
    assert (conve["ece.low"], conve["distances.head"]) == (0.08, 1.09)
    assert paper_numbers("fb15k-237", "tucker", "swa") == {
        "overall.mrr": 0.3577,
        "bins.low.mrr": 0.1418,
    }
    assert paper_numbers("world", "conve", "mixup") == paper_numbers("codex-m", "", "mixup") == {}


def leaves(tree, path=()):
    """Every number of nested tables with the keys that lead to it."""
    if not isinstance(tree, dict):
        return [(path, tree)]
    return [leaf for key, value in tree.items() for leaf in leaves(value, (*path, key))]


@pytest.mark.parametrize(
    ("table", "key", "scale", "count"),
    [
        ("main", "overall.{}", 100, 90),
        ("bins", "bins.{}.mrr", 100, 120),
        ("ece", "ece.{}", 1, 24),
    ],
)
def test_all_numbers_of_a_table(tables, table, key, scale, count):
    found = leaves(tables[table])
    assert len(found) == count
    for (model, strategy, data, name), value in found:
        ours = paper_numbers(data, model, strategy)[key.format(name)]
        assert ours == pytest.approx(value / scale)
