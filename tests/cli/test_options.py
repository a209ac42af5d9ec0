"""Options of the configuration as options of a command."""

import click
import pytest
from click.testing import CliRunner

from dglkgmix.cli.options import flags
from dglkgmix.config.settings import TRAINING


@click.command()
@flags(TRAINING.values())
def command(**options):
    print({name: value for name, value in options.items() if value is not None})


def call(*args):
    result = CliRunner().invoke(command, args)
    return result.output.strip()


def test_every_option_with_a_flag_is_there_and_none_is_given():
    names = {parameter.name for parameter in command.params}
    assert names == set(TRAINING)
    assert call() == "{}"


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        (("--epochs", "3"), "{'epochs': 3}"),
        (("--lr", "0.5"), "{'lr': 0.5}"),
        (("--no-swa",), "{'swa': False}"),
        (("--model", "tucker"), "{'model': 'tucker'}"),
        (("--model", "mine:Rotation"), "{'model': 'mine:Rotation'}"),
        (("--fixed-lambda", "1"), "{'fixed_lambda': 1.0}"),
    ],
)
def test_values_have_the_types_of_their_options(args, shown):
    assert call(*args) == shown


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--model", "rotate3"), "'rotate3' is not one of 'conve', 'tucker',"),
        (("--loss", "mse"), "'mse' is not one of 'bce', 'ce'"),
        (("--epochs", "many"), "'many' is not a valid integer"),
    ],
)
def test_other_values_are_refused_with_the_choices(args, message):
    assert message in " ".join(call(*args).split())


@pytest.mark.parametrize(
    ("flag", "text"),
    [
        ("--threshold", "Treat tail-relation degrees below it. [default: 5]"),
        ("--seed", "Seed of everything but the split. [default: 0]"),
        ("--alpha", "Mix with λ ~ Beta(α, α). [default: 1]"),
        ("--epochs", "Maximum number of epochs of each stage. [default: by graph size]"),
        ("--fixed-lambda", "One λ instead of draws; 1 is the control."),
    ],
)
def test_help_ends_with_the_default_or_what_auto_means(flag, text):
    (found,) = [p for p in command.params if flag in p.opts]
    assert isinstance(found, click.Option)
    assert found.help == text
