import pytest

from dglkgmix.config.toml import set_option
from dglkgmix.errors import ConfigError
from dglkgmix.experiments.recipes import load_recipe, packaged_text
from dglkgmix.experiments.space import Range, parse_space
from dglkgmix.experiments.tune import starting_point
from tests.conftest import ROOT

SPACE = """
[settings]
recipe = "codex-s-conve"
training.epochs = 2
[space]
training.lr = { low = 1e-4, high = 1e-2, log = true }
"strategy.threshold" = { low = 2, high = 10, step = 2 }
model.input_dropout = [0.1, 0.2]
strategy.name = ["standard", "mixup"]
"""


class Asked:
    """Stands in for a trial: notes what is asked and takes the first or lowest."""

    def __init__(self):
        self.calls = []

    def __getattr__(self, asked):
        def suggest(name, first, *others, **options):
            self.calls.append((asked, name, first, *others, *options.values()))
            return first[0] if isinstance(first, list) else first

        return suggest


def test_a_trial_gets_a_value_for_every_option():
    space, trial = parse_space(SPACE), Asked()
    assert (space.recipe, space.settings) == ("codex-s-conve", {"training.epochs": 2})
    assert space.suggest(trial) == {
        "training.lr": 1e-4,
        "strategy.threshold": 2,
        "model.input_dropout": 0.1,
        "strategy.name": "standard",
    }
    assert trial.calls == [
        ("suggest_float", "training.lr", 1e-4, 1e-2, None, True),
        ("suggest_int", "strategy.threshold", 2, 10, 2, False),
        ("suggest_categorical", "model.input_dropout", [0.1, 0.2]),
        ("suggest_categorical", "strategy.name", ["standard", "mixup"]),
    ]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[settings]", "[setings]", "unknown key 'setings'; did you mean settings"),
        ("[space]", "[settings.space]", r"\[space\] is missing or empty"),
        ("training.lr", "training.lrr", "unknown option 'training.lrr'; did you mean"),
        ("training.epochs", "training.epoch", "unknown option 'training.epoch'"),
        ("[0.1, 0.2]", "[]", "must be a list of values or a range"),
        ("[0.1, 0.2]", "0.1", "must be a list of values or a range"),
        ("[0.1, 0.2]", "['x']", "model.input_dropout: expected a number"),
        ("low = 2, high = 10, step = 2", "low = 2.5, high = 3.5", "strategy.threshold: expected a"),
        ("low = 2, high = 10, step = 2", "low = 2", "a range needs low and high"),
        ("low = 2, high = 10, step = 2", "low = 5, high = 5", "low must be below high"),
        (
            "low = 2, high = 10, step = 2",
            "low = 0, high = 5, log = true",
            "log needs a low above 0",
        ),
        ("step = 2", "step = 0", "step must be above 0"),
        ("step = 2", "step = 0.5", "and whole between whole numbers"),
        ("log = true", "log = 1", "log must be true or false"),
        (
            "[0.1, 0.2]",
            "[0.1, 1.5]",
            r"\[space\]: model.input_dropout must lie in \[0, 1\), got 1.5",
        ),
        ("low = 2, high", "low = -2, high", "strategy.threshold must be 0 or more, got -2"),
        ("log = true", "lgo = true", "unknown key 'lgo'; did you mean low, log"),
        ("training.epochs = 2", "training.lr = 2.0", r"training.lr is in \[settings\] and in"),
    ],
)
def test_what_is_wrong_is_refused_by_name(old, new, message):
    assert old in SPACE
    with pytest.raises(ConfigError, match=message):
        parse_space(SPACE.replace(old, new, 1), "f")


def test_a_range_of_whole_numbers_is_for_whole_numbers():
    space, trial = parse_space("[space]\ntraining.lr = { low = 0.5, high = 1 }"), Asked()
    assert space.choices["training.lr"] == Range(0.5, 1)
    space.suggest(trial)
    assert trial.calls[0][0] == "suggest_float"


def test_the_papers_space_is_packaged():
    conve, tucker = (
        parse_space(packaged_text("spaces", f"paper-{m}")) for m in ("conve", "tucker")
    )
    both = {
        "training.lr": [1e-5, 5e-5, 1e-4, 5e-4, 1e-3],
        "training.lr_decay": [0.99, 0.995, 1.0],
        "training.label_smoothing": [0.0, 0.1],
        "model.input_dropout": [0.0, 0.1, 0.2, 0.3, 0.4, 0.5],
        "strategy.threshold": [3, 5, 10],
        "strategy.partners": [5, 10],
        "strategy.synthetic_weight": [0.01, 0.1, 1.0],
        "swa.lr": [1e-5, 5e-4],
    }
    for space in (conve, tucker):
        assert {key: space.choices[key] for key in both} == both
    assert tucker.choices["model.relation_dim"] == [50, 100, 200]
    assert set(conve.choices) - set(both) == {"model.feature_dropout", "model.hidden_dropout"}


def test_trials_start_from_the_recipe_and_the_settings():
    space = parse_space(SPACE)
    config = starting_point(space, {"data.source": "some/data"})
    wanted = set_option(load_recipe("codex-s-conve"), "training.epochs", 2)
    assert config == set_option(wanted, "data.source", "some/data")
    other = starting_point(space, {"data.source": "x"}, "codex-s-tucker")
    assert (other.model.decoder, other.training.epochs) == ("tucker", 2)


def test_the_guides_example_is_right():
    guide = (ROOT / "docs" / "guides" / "experiments.md").read_text(encoding="utf-8")
    space = parse_space(guide.split("```toml\n")[2].split("```")[0])
    assert space.choices["training.batch_size"] == Range(128, 512, step=128)
