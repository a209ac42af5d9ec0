"""Classes by name: the package's and the user's."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dglkgmix.config import ModelConfig, StrategyConfig, classes
from dglkgmix.config.classes import admit, find, options_of, reads, title, trusting
from dglkgmix.errors import ConfigError

MODULE = """
from dglkgmix.config import option
from dglkgmix.models.decoder import Decoder
from dglkgmix.models.lookup import Lookup
from dglkgmix.strategies import Strategy


class Turned(Decoder):
    class Options:
        angle: float = option(0.5, "A turn.")

    def __init__(self, entity_dim, relation_dim, angle, input_dropout):
        super().__init__(entity_dim, relation_dim)

    def _query(self, head, relation):
        return head * relation


class Clash(Turned):
    class Options:
        filters: int = option(1, "Taken.")


class Typo(Turned):
    def __init__(self, entity_dim, relation_dim, angel):
        super().__init__(entity_dim, relation_dim, 1.0, 0.0)


class Unfinished(Decoder):
    def __init__(self, entity_dim):
        super().__init__(entity_dim, entity_dim)


class Mine(Strategy):
    reads = ("threshold",)

    class Options:
        power: float = option(2.0, "A power.")


class Unread(Turned):
    class Options(Turned.Options):
        depth: int = option(1, "Not in the constructor.")


class Bare(Turned):
    class Options(Turned.Options):
        depth: int = 1


class Given(Turned):
    class Options(Turned.Options):
        entities: int = option(1, "Encoders are given it.")


class Taken(Turned):
    class Options(Turned.Options):
        own: float = option(1.0, "An attribute of the table.")


class Sized(Turned):
    def __init__(self, entities, entity_dim, angle):
        super().__init__(entity_dim, entity_dim, angle, 0.0)


class More(Turned):
    class Options(Turned.Options):
        depth: int = option(3, "A depth.")

    def __init__(self, entity_dim, relation_dim, angle, depth):
        super().__init__(entity_dim, relation_dim, angle, 0.0)


class Same(Lookup):
    class Options:
        angle: float = option(0.1, "Another turn.")

    def __init__(self, entities, relations, entity_dim, relation_dim, angle):
        super().__init__(entities, relations, entity_dim, relation_dim)


class OneLetter(Strategy):
    reads = "threshold"


class Other:
    pass


def make():
    class Inner(Turned):
        pass

    return Inner
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A module in the current directory that nothing has imported."""
    (tmp_path / "own_classes.py").write_text(MODULE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p not in ("", str(tmp_path))])
    monkeypatch.setattr(classes, "_named", {})
    yield "own_classes"
    sys.modules.pop("own_classes", None)


def test_what_a_class_reads_and_brings(module: str) -> None:
    name = admit("decoder", f"{module}:Turned")
    assert name == "own_classes:Turned"
    assert find("decoder", name).__name__ == "Turned"
    assert options_of("decoder", name)["angle"].key == "model.angle"
    assert {"angle", "input_dropout"} <= reads("decoder", name)
    assert "filters" not in reads("decoder", name)
    strategy = admit("strategy", f"{module}:Mine")
    assert reads("strategy", strategy) == {"threshold", "power"}
    assert title("decoder", name) == "Turned"
    assert [title("encoder", "rgcn"), title("decoder", "tucker")] == ["R-GCN", "TuckER"]


def test_a_stored_name_is_imported_only_with_trust(module: str) -> None:
    with pytest.raises(ConfigError, match=r"where: own_classes:Turned .*add --trust"):
        admit("decoder", f"{module}:Turned", trust=False, where="where")
    assert module not in sys.modules
    with trusting(True):
        admit("decoder", f"{module}:Turned", trust=False)
    assert module in sys.modules
    admit("strategy", f"{module}:Mine", trust=False)  # imported already: nothing runs


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (
            "decoder",
            "convE",
            r'expected "conve" or .* or "module:Class", got "convE"; did you mean',
        ),
        ("decoder", "own_classes:None_", "own_classes:None_ cannot be imported: AttributeError"),
        (
            "decoder",
            "no_such_module:X",
            "cannot be imported: ModuleNotFoundError: .*; run this in .* folder, or put .*",
        ),
        ("decoder", "own_classes:Other", "not a subclass of dglkgmix.models.decoder.Decoder"),
        ("strategy", "own_classes:Turned", "not a subclass of .*Strategy"),
        ("decoder", "own_classes:Clash", "Clash.Options declares 'filters', which every model has"),
        ("decoder", "own_classes:Typo", "Typo reads 'angel', which is no option: declare it"),
        ("decoder", "own_classes:Unread", "'depth', which its constructor does not take"),
        ("decoder", "own_classes:Bare", "Bare.Options.depth declares no option: write"),
        ("decoder", "own_classes:Given", "Given.Options declares 'entities', which every model"),
        ("decoder", "own_classes:Taken", "Taken.Options declares 'own', a name that is taken"),
        ("decoder", "own_classes:Sized", "Sized takes 'entities', which encoders alone get"),
        ("strategy", "own_classes:OneLetter", "OneLetter.reads is a string: a tuple of one"),
        ("decoder", "own_classes:Unfinished", "Unfinished must define _query, as Decoder asks"),
        ("decoder", "./own_classes:Turned", "is not of the form .* without its folder and .py"),
        ("decoder", "own_classes.py:Turned", "; a module is named without .py"),
        ("decoder", ":Turned", "is not of the form"),
        ("decoder", "own_classes:", "is not of the form"),
        ("decoder", "__main__:Gone", "was defined in a script or notebook"),
    ],
)
def test_what_cannot_be_used_is_refused(module: str, kind: str, value: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        admit(kind, value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import sys; sys.exit()", "strange_module:X cannot be imported: SystemExit"),
        ("import strange", "No module named 'strange'$"),  # no advice: it is another module
    ],
)
def test_a_module_that_cannot_be_imported(module: str, text: str, message: str) -> None:
    Path("strange_module.py").write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=message):
        admit("decoder", "strange_module:X")


def test_what_a_module_prints_is_no_output_of_the_command(
    module: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(f"{module}.py").write_text(f"print('hello')\n{MODULE}", encoding="utf-8")
    admit("decoder", f"{module}:Turned")
    assert capsys.readouterr() == ("", "hello\n")


def test_a_class_itself(module: str) -> None:
    admit("decoder", f"{module}:Turned")
    own = sys.modules[module]
    assert ModelConfig(decoder=own.Turned).decoder == "own_classes:Turned"
    assert StrategyConfig(name=find("strategy", "mixup")).name == "mixup"
    with pytest.raises(ConfigError, match="stands inside a function"):
        ModelConfig(decoder=own.make())
    with pytest.raises(ConfigError, match="is not a subclass"):
        ModelConfig(decoder=3)


def test_own_options_are_attributes_with_defaults(module: str) -> None:
    config = ModelConfig(decoder=f"{module}:Turned")
    assert config.angle == 0.5
    given = ModelConfig(decoder=f"{module}:Turned", own={"angle": 2.0})
    assert (given.angle, hash(given) == hash(config)) == (2.0, False)
    with pytest.raises(ConfigError, match="unknown option 'angel': angle"):
        ModelConfig(decoder=f"{module}:Turned", own={"angel": 2.0})
    with pytest.raises(AttributeError, match="ModelConfig has no option 'angel'"):
        _ = given.angel


def test_options_are_inherited(module: str) -> None:
    config = ModelConfig(decoder=f"{module}:More", own={"angle": 2.0})
    assert config.own == (("angle", 2.0), ("depth", 3))


def test_two_classes_with_an_option_of_one_name_are_refused(module: str) -> None:
    with pytest.raises(ConfigError, match="own_classes:Same declares the option 'angle', and so"):
        ModelConfig(decoder=f"{module}:Turned", encoder=f"{module}:Same")


def test_a_worker_that_gets_settings_imports_their_classes(module: str) -> None:
    text = pickle.dumps(ModelConfig(decoder=f"{module}:Turned", own={"angle": 3.0}))
    sys.modules.pop(module)
    classes._named.clear()
    found = pickle.loads(text)
    assert (found.decoder, found.angle) == ("own_classes:Turned", 3.0)
    assert find("decoder", found.decoder).__name__ == "Turned"
