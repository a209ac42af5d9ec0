import pytest

from dglkgmix.errors import ConfigError
from dglkgmix.experiments.comparisons import Comparison, parse_comparison

AXES = {
    "training.filtered": (True, False),
    "model": ("conve", "tucker"),
    "strategy": ("standard", "mixup"),
    "training.lr": (0.1, 0.2),
}


def test_the_other_setting_differs_in_the_named_axes_alone():
    comparison = Comparison({"strategy": "mixup"}, {"strategy": "standard"})
    axes = {"model": "conve", "strategy": "mixup", "training.lr": 0.1}
    assert comparison.partner(axes) == axes | {"strategy": "standard"}
    assert comparison.partner(axes | {"strategy": "standard"}) is None


def test_several_axes_of_any_kind():
    table = {
        "of": {"model": "tucker", "training.lr": 0.2},
        "against": {"training.lr": 0.1, "model": "conve"},
    }
    comparison = parse_comparison(table, AXES, "f")
    assert comparison.partner({"model": "tucker", "strategy": "mixup", "training.lr": 0.2}) == {
        "model": "conve",
        "strategy": "mixup",
        "training.lr": 0.1,
    }


def test_values_are_the_grids_own_and_names_need_no_quotes():
    table = {"of": {"training": {"lr": 1.0}}, "against": {"training": {"lr": 2}}}
    found = parse_comparison(table, {"training.lr": (1, 2.0)}, "f")
    assert repr(found) == repr(Comparison({"training.lr": 1}, {"training.lr": 2.0}))


@pytest.mark.parametrize(
    ("of", "against", "message"),
    [
        ({"strategy": "mixup"}, None, "must be a table with of and against"),
        ({"strategy": "mixup"}, {"strategy": "mixpu"}, "no cell has strategy 'mixpu'; did you"),
        ({"strategy": "mixup"}, {"strategy": ["mixup"]}, r"no cell has strategy \['mixup'\]"),
        ({"strategie": "mixup"}, {"strategy": "mixup"}, "unknown key 'strategie'; did you mean"),
        ({"strategy": "mixup"}, {"model": "conve"}, "must name the same axes"),
        ({}, {}, "at least one"),
        ({"strategy": "mixup"}, {"strategy": "mixup"}, "are the same"),
        (
            {"training.filtered": 1},
            {"training.filtered": False},
            r"no cell has training\.filtered 1",
        ),
        ({"training.lr": 0.3}, {"training.lr": 0.1}, r"no cell has training\.lr 0\.3$"),
        ("mixup", {"strategy": "mixup"}, "of must be a table"),
    ],
)
def test_what_is_wrong_is_refused(of, against, message):
    table = {"of": of} if against is None else {"of": of, "against": against}
    with pytest.raises(ConfigError, match=message):
        parse_comparison(table, AXES, "f")
