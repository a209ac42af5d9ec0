import pytest

from dglkgmix.config.settings import OPTIONS
from dglkgmix.errors import ConfigError
from dglkgmix.experiments import grid
from dglkgmix.experiments.grid import Comparison, flatten, parse_comparison, parse_experiment
from dglkgmix.experiments.recipes import packaged, packaged_text
from tests.conftest import ROOT

SMALL = """
[experiment]
name = "small"
seeds = [3, 1]
[grid]
data = ["world"]
model = ["conve", "tucker"]
strategy = ["standard", "mine"]
"training.regime" = ["1-n", "1-k"]
[settings]
recipe = "{data}-{model}"
training.epochs = 2
"training.lr" = 0.1
[variants.mine]
recipe = "other"
strategy.fixed_lambda = 1.0
"""


def test_a_file_becomes_axes_and_options():
    experiment = parse_experiment(SMALL)
    assert (experiment.name, experiment.seeds, experiment.bins) == ("small", (3, 1), (1, 10, 50))
    assert experiment.axes == {
        "data": ("world",),
        "model": ("conve", "tucker"),
        "encoder": ("lookup",),
        "strategy": ("standard", "mine"),
        "training.regime": ("1-n", "1-k"),
    }
    assert experiment.recipe == "{data}-{model}"
    assert experiment.settings == {"training.epochs": 2, "training.lr": 0.1}
    assert experiment.variants == {"mine": {"strategy.fixed_lambda": 1.0}}
    assert experiment.variant_recipes == {"mine": "other"}


def test_cells_are_all_combinations_with_the_last_axis_fastest():
    combinations = parse_experiment(SMALL).combinations()
    assert len(combinations) == 8
    assert [(c["model"], c["strategy"], c["training.regime"]) for c in combinations[:3]] == [
        ("conve", "standard", "1-n"),
        ("conve", "standard", "1-k"),
        ("conve", "mine", "1-n"),
    ]


def test_the_baseline_is_standard_where_there_is_one():
    assert parse_experiment(SMALL).baseline == "standard"
    without = SMALL.replace('["standard", "mine"]', '["mine"]')
    assert parse_experiment(without).baseline is None
    chosen = SMALL.replace('name = "small"', 'name = "small"\nbaseline = "mine"')
    assert parse_experiment(chosen).baseline == "mine"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[grid]", "[gird]", r"^f: unknown key 'gird'; did you mean grid\?"),
        ("[experiment]", "[settings2]", "unknown key 'settings2'"),
        ("seeds =", "seed =", r"\[experiment\]: unknown key 'seed'; did you mean seeds"),
        ('name = "small"', "", r"\[experiment\]: name is missing"),
        ("[3, 1]", "[1, 1]", "seeds: a value stands there twice"),
        ("[3, 1]", "[-1]", "seeds must be whole numbers from 0 up"),
        ("[3, 1]", "3", "seeds must be a list"),
        ("[3, 1]", "[]", "seeds must be whole numbers"),
        ("[3, 1]", "[1]\nbaseline = 'standrad'", "baseline 'standrad' is not in the grid; did you"),
        ("[3, 1]", "[1]\nbins = [0.5]", "bins must be whole numbers"),
        ("[3, 1]", "[1]\nbins = [10, 5]", r"^f: \[experiment\]: bins: edges must be positive and"),
        ("[3, 1]", "[1]\ndistances = 1", "distances must be true or false"),
        ('data = ["world"]', "", r"\[grid\]: the axis 'data' is missing"),
        ('data = ["world"]', "data = []", "data must be a list with at least one value"),
        ('data = ["world"]', 'data = "world"', "data must be a list"),
        ('data = ["world"]', "data = [1]", "data must hold strings"),
        ('"tucker"]', '"tuker"]', "unknown model 'tuker'; did you mean tucker"),
        ('"tucker"]', '"conve"]', "model has 'conve' twice"),
        ('"mine"]', '"mixpu"]', "unknown strategy 'mixpu'; did you mean mixup"),
        ('"training.regime"', '"training.regine"', "option 'training.regine'; did you mean"),
        ('"training.regime"', "modle", r"\[grid\]: unknown axis 'modle'; did you mean model"),
        ("training.epochs", "training.epocsh", "unknown option 'training.epocsh'; did you mean"),
        ("{data}-{model}", "{dat}", "recipe '{dat}' may hold {data}"),
        ("{data}-{model}", "{0}", "may hold {data}"),
        ('recipe = "other"', "recipe = 1", r"\[variants.mine\]: recipe must be a string"),
        ("training.epochs = 2", "training.regime = '1-n'", "training.regime is an axis of"),
        ("training.epochs = 2", "runtime.seed = 2", "runtime.seed is what"),
        ("strategy.fixed_lambda = 1.0", "data.source = 'x'", "data.source is what"),
        (
            "strategy.fixed_lambda = 1.0",
            "training.regime = '1-k'",
            r"\[variants.mine\]: training.regime is an axis of",
        ),
        ('recipe = "other"', "[comparisons]", "comparisons must be a list"),
        ("training.epochs = 2", "training = 2", "unknown option 'training'"),
        ('"training.regime"', '"runtime.threads"', "runtime.threads changes no setting"),
        ('"training.regime"', '"runtime.seed"', "runtime.seed is what seeds are for"),
    ],
)
def test_what_is_wrong_is_refused_by_name(old, new, message):
    assert old in SMALL
    with pytest.raises(ConfigError, match=message):
        parse_experiment(SMALL.replace(old, new, 1), "f")


def test_a_table_that_is_missing_is_named():
    with pytest.raises(ConfigError, match=r"the table \[grid\] is missing"):
        parse_experiment("[experiment]\nname = 'x'", "f")


def test_further_comparisons_are_settings_of_the_grid():
    text = '[[comparisons]]\nof = { model = "tucker" }\nagainst = { model = "conve" }\n'
    (comparison,) = parse_experiment(SMALL + text).comparisons
    assert comparison == Comparison({"model": "tucker"}, {"model": "conve"})
    with pytest.raises(ConfigError, match=r"\[\[comparisons\]\] 1: of: no cell has model 'tuckr'"):
        parse_experiment(SMALL + text.replace("tucker", "tuckr"), "f")


AXES = {
    "training.filtered": (True, False),
    "model": ("conve", "tucker"),
    "strategy": ("standard", "mixup"),
    "training.lr": (1.0, 0.2),
}


def test_the_other_setting_differs_in_the_named_axes_alone():
    """Values are the grid's own, 1.0 for 1; and names need no quotes."""
    of = {"model": "tucker", "training": {"lr": 0.2}}
    comparison = parse_comparison(
        {"of": of, "against": {"training.lr": 1, "model": "conve"}}, AXES, "f"
    )
    axes = {"model": "tucker", "strategy": "mixup", "training.lr": 0.2}
    other = comparison.partner(axes)
    assert other == {"model": "conve", "strategy": "mixup", "training.lr": 1.0}
    assert type(other["training.lr"]) is float
    assert comparison.partner(axes | {"model": "conve"}) is None


@pytest.mark.parametrize(
    ("of", "against", "message"),
    [
        ({"strategy": "mixup"}, None, "must be a table with of and against"),
        ({"strategy": "mixup"}, {"strategy": "mixpu"}, "no cell has strategy 'mixpu'; did you"),
        ({"strategy": "mixup"}, {"strategy": ["mixup"]}, r"no cell has strategy \['mixup'\]"),
        ({"strategie": "mixup"}, {"strategy": "mixup"}, "unknown option 'strategie'; did you mean"),
        ({"strategy": "mixup"}, {"model": "conve"}, "must name the same axes"),
        ({}, {}, "at least one"),
        ({"strategy": "mixup"}, {"strategy": "mixup"}, "are the same"),
        (
            {"training.filtered": 1},
            {"training.filtered": False},
            r"no cell has training\.filtered 1",
        ),
        ({"training.lr": 0.3}, {"training.lr": 0.2}, r"no cell has training\.lr 0\.3$"),
        ("mixup", {"strategy": "mixup"}, "of must be a table"),
    ],
)
def test_a_wrong_comparison_is_refused(of, against, message):
    table = {"of": of} if against is None else {"of": of, "against": against}
    with pytest.raises(ConfigError, match=message):
        parse_comparison(table, AXES, "f")


def test_nested_and_dotted_options_are_the_same():
    dotted = {"training.lr": 1.0, "training.epochs": 2, "data.columns": ["a", "b", "c"]}
    nested = {"training": {"lr": 1.0, "epochs": 2}, "data.columns": ["a", "b", "c"]}
    assert flatten(nested, "x", OPTIONS) == flatten(dotted, "x", OPTIONS) == dotted


def test_packaged_experiments_are_right():
    for name in packaged("experiments"):
        title = parse_experiment(packaged_text("experiments", name), name).name
        assert title.startswith("KG-Mixup paper") == name.startswith("paper-")


def test_the_guide_documents_every_key_and_its_example_is_right():
    guide = (ROOT / "docs" / "guides" / "experiments.md").read_text(encoding="utf-8")
    schema = guide.split("## The file")[1].split("## The results")[0]
    for key in (*grid._HEAD, *grid.AXES, "recipe", "[grid]", "of", "against"):
        assert f"`{key}`" in schema, key
    example = guide.split("```toml\n")[1].split("```")[0]
    assert len(parse_experiment(example).combinations()) == 16


@pytest.mark.parametrize(
    "lines",
    [
        "strategy.threshold = [3, 5]",
        'strategy = ["mixup"]\nstrategy.threshold = [3, 5]',
        'strategy.threshold = [3, 5]\nstrategy = ["mixup"]',
    ],
)
def test_an_axis_that_is_an_option_wants_quotes(lines):
    text = f'[experiment]\nname = "x"\n[grid]\ndata = ["world"]\nmodel = ["conve"]\n{lines}\n'
    with pytest.raises(ConfigError, match=r'Put the name in quotes, "strategy\.threshold" = '):
        parse_experiment(text)
    quoted = text.replace("strategy.threshold", '"strategy.threshold"')
    if '["mixup"]' in lines:
        assert parse_experiment(quoted).axes["strategy.threshold"] == (3, 5)


def test_other_mistakes_get_no_hint_at_quotes():
    with pytest.raises(ConfigError, match=r"not a TOML file: [^.]*$"):
        parse_experiment("[settings]\nstrategy.threshold = 3\n[grid]\ndata = [\n")
