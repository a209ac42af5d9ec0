"""Decoders, encoders and strategies by name: the package's own, and classes of the user's.

A name without a colon is one of the package's. ``my_module:Rotation`` is a class of the user's. It
is imported where the user names it: as a flag, with ``--set``, in a configuration or experiment
file, or in Python. Importing a module runs it, so a stored run that names one is read only where
the module is imported already, the class was named on this call, or with ``--trust``
(``trust=True`` in Python).
"""

from __future__ import annotations

import difflib
import importlib
import inspect
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

from dglkgmix.config.option import Option, declared
from dglkgmix.errors import ConfigError

DECODERS = {
    "conve": "dglkgmix.models.conve:ConvE",
    "tucker": "dglkgmix.models.tucker:TuckER",
    "distmult": "dglkgmix.models.distmult:DistMult",
    "complex": "dglkgmix.models.complex:ComplEx",
    "rescal": "dglkgmix.models.rescal:RESCAL",
    "transe": "dglkgmix.models.transe:TransE",
    "rotate": "dglkgmix.models.rotate:RotatE",
}
ENCODERS = {
    "lookup": "dglkgmix.models.lookup:Lookup",
    "rgcn": "dglkgmix.models.rgcn:RGCN",
    "compgcn": "dglkgmix.models.compgcn:CompGCN",
}
STRATEGIES = {
    "standard": "dglkgmix.strategies.standard:Standard",
    "mixup": "dglkgmix.strategies.mixup:Mixup",
    "oversample": "dglkgmix.strategies.oversample:Oversample",
    "reweight": "dglkgmix.strategies.reweight:Reweight",
    "focal": "dglkgmix.strategies.focal:Focal",
    "logit-adjustment": "dglkgmix.strategies.logit_adjustment:LogitAdjustment",
}
NAMES = {"decoder": DECODERS, "encoder": ENCODERS, "strategy": STRATEGIES}
_BASES = {
    "decoder": "dglkgmix.models.decoder:Decoder",
    "encoder": "dglkgmix.models.encoder:Encoder",
    "strategy": "dglkgmix.strategies.base:Strategy",
}
# What an encoder's constructor is given beside options.
_GIVEN = ("kg", "entities", "relations")
_choosers: list[type] = []
# Classes of the user's that were named in this process, by their import path.
_named: dict[str, type] = {}
_trusted: ContextVar[bool] = ContextVar("trusted", default=False)


@contextmanager
def trusting(value: bool) -> Iterator[None]:
    """Within it, stored runs may name classes that have to be imported, where ``value`` is true
    or another such block stands around it.
    """
    token = _trusted.set(value or _trusted.get())
    try:
        yield
    finally:
        _trusted.reset(token)


def find(kind: str, name: str) -> Any:
    """The class called ``name``; of the user's, one that :func:`admit` has seen.

    Raises:
        ConfigError: there is no such class.
    """
    if name in NAMES[kind]:
        return _imported(NAMES[kind][name])
    if name in _named:
        return _named[name]
    return admit(kind, name, trust=False)


def admit(kind: str, value: Any, *, trust: bool = True, where: str = "") -> str:
    """The name of the class that ``value`` is or names, imported where that is allowed.

    Args:
        kind: "decoder", "encoder" or "strategy".
        value: a name of the package's, ``module:Class`` or a class.
        trust: whether a module may be imported that this process has not imported yet.
        where: begins the message.

    Raises:
        ConfigError: an unknown name, a class of another kind, or one that cannot be imported.
    """
    at = f"{where}: " if where else ""
    if isinstance(value, str) and ":" not in value:
        if value in NAMES[kind]:
            return value
        wanted = " or ".join(f'"{name}"' for name in NAMES[kind])
        near = difflib.get_close_matches(value, NAMES[kind], n=1)
        hint = f'; did you mean "{near[0]}"?' if near else ""
        raise ConfigError(f'{at}expected {wanted} or "module:Class", got "{value}"{hint}')
    found = import_named(value, trust=trust, at=at) if isinstance(value, str) else value
    base = _imported(_BASES[kind])
    if not isinstance(found, type) or not issubclass(found, base):
        raise ConfigError(f"{at}{value!r} is not a subclass of {base.__module__}.{base.__name__}")
    if inspect.isabstract(found):
        missing = ", ".join(sorted(found.__abstractmethods__))  # type: ignore[attr-defined]
        raise ConfigError(f"{at}{found.__name__} must define {missing}, as {base.__name__} asks")
    path = f"{found.__module__}:{found.__qualname__}"
    if "<locals>" in path:
        raise ConfigError(f"{at}{path} stands inside a function: move it to the top of a module")
    own = {target: name for name, target in NAMES[kind].items()}
    if path in own:
        return own[path]
    _named[path] = found
    if isinstance(value, str) and value != path:
        _named[value] = found
        path = value
    _check(kind, found, at)
    return path


def any_named() -> bool:
    """Whether classes of the user's were named in this process."""
    return bool(_named)


def title(kind: str, name: str) -> str:
    """What people call a decoder or an encoder: its ``title``, or the class's name."""
    found = find(kind, name)
    return str(found.title or found.__name__)


def options_of(kind: str, name: str) -> dict[str, Option]:
    """The options that a class of the user's declares in its ``Options``; none for the package's.

    Raises:
        ConfigError: as :func:`find`.
    """
    return _own_options(kind, find(kind, name)) if ":" in name else {}


def reads(kind: str, name: str) -> frozenset[str]:
    """The options that a class reads: a decoder's and an encoder's are the parameters of its
    constructor, a strategy's stand in its ``reads``; its own ``Options`` among them.
    """
    found = find(kind, name)
    own = frozenset(_own_options(kind, found)) if ":" in name else frozenset()
    if kind == "strategy":
        return own | frozenset(found.reads)
    return own | frozenset(parameters(found))


class Chooser:
    """A table whose values name classes, which may bring options of their own."""

    own: tuple[tuple[str, Any], ...]

    def __init_subclass__(cls) -> None:
        """Classes are checked against the options of the table that names them."""
        _choosers.append(cls)

    def __post_init__(self) -> None:
        """Classes become names, and ``own`` gets every option that the user's declare."""
        kinds = {name: o for name, o in declared(type(self), "").items() if o.classes}
        known: dict[str, Option] = {}
        for name, chosen in kinds.items():
            value = admit(chosen.classes, getattr(self, name), where=name)
            object.__setattr__(self, name, value)
            brought = options_of(chosen.classes, value)
            for twice in brought.keys() & known.keys():
                raise ConfigError(
                    f"{name}: {value} declares the option {twice!r}, and so does another class "
                    f"of this table: take another name"
                )
            known |= brought
        given = dict(self.own)
        for name in given.keys() - known.keys():
            raise ConfigError(f"unknown option {name!r}: {', '.join(known) or 'no class has any'}")
        values = {name: given.get(name, made.default) for name, made in known.items()}
        object.__setattr__(self, "own", tuple(values.items()))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Unpickled, as in a worker process, its classes are imported."""
        self.__dict__.update(state)
        for made in declared(type(self), "").values():
            if made.classes:
                admit(made.classes, state[made.name])

    def __getattr__(self, name: str) -> Any:
        for key, value in self.__dict__.get("own", ()):
            if key == name:
                return value
        raise AttributeError(f"{type(self).__name__} has no option {name!r}")


@cache
def parameters(built: type) -> tuple[str, ...]:
    """The names of the parameters of a class's constructor."""
    _, *found = inspect.signature(built.__init__).parameters.values()  # type: ignore[misc]
    return tuple(p.name for p in found if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD))


def _own_options(kind: str, found: type) -> dict[str, Option]:
    table = "strategy" if kind == "strategy" else "model"
    own = getattr(found, "Options", None)
    return {} if own is None else declared(own, table)


def _check(kind: str, found: type, at: str) -> None:
    """Refuse options that clash with the package's, and parameters that are no options."""
    own, at = _own_options(kind, found), f"{at}{found.__name__}"
    table = next(t for t in _choosers if any(o.classes == kind for o in declared(t, "").values()))
    known = declared(table, "")
    _check_own(own, found, table, known, at)
    taken = _check_strategy(found, at) if kind == "strategy" else set(parameters(found))
    if kind == "decoder" and taken & set(_GIVEN):
        raise ConfigError(f"{at} takes {min(taken & set(_GIVEN))!r}, which encoders alone get")
    for name in sorted(taken - set(own) - set(known) - set(_GIVEN)):
        raise ConfigError(
            f"{at} reads {name!r}, which is no option: declare it in the class, "
            f"`class Options: {name}: float = option(…)`"
        )
    for name in own:
        if kind != "strategy" and name not in taken:
            raise ConfigError(
                f"{at}.Options declares {name!r}, which its constructor does not take: "
                f"give __init__ a parameter {name!r}"
            )


def _check_own(
    own: dict[str, Option], found: type, table: type, known: Mapping[str, Option], at: str
) -> None:
    section = getattr(found, "Options", None)
    names = {*dir(section), *getattr(section, "__annotations__", ())} if section else set()
    for name in sorted(names - set(own)):
        if not name.startswith("_"):
            raise ConfigError(
                f"{at}.Options.{name} declares no option: write `{name}: float = option(…)`, "
                "with its type"
            )
    for name in own:
        if name in known or name in _GIVEN:
            raise ConfigError(
                f"{at}.Options declares {name!r}, which every model has: "
                "leave it out there, and name it where the class reads it"
            )
        if hasattr(table, name):
            raise ConfigError(f"{at}.Options declares {name!r}, a name that is taken: take another")


def _check_strategy(found: Any, at: str) -> set[str]:
    """What it reads."""
    for name in ("reads", "losses"):
        if isinstance(getattr(found, name), str):
            raise ConfigError(f"{at}.{name} is a string: a tuple of one ends with a comma")
    return set(found.reads)


def import_named(path: str, *, trust: bool = True, at: str = "") -> Any:
    """What ``module:name`` stands for; the current directory is searched last.

    Raises:
        ConfigError: it cannot be imported, or may not be.
    """
    if path in _named:
        return _named[path]
    module, _, name = path.partition(":")
    if not all(part.isidentifier() for part in (*module.split("."), *name.split("."))):
        raise ConfigError(
            f'{at}"{path}" is not of the form "module:Class": a module is named as in Python, '
            "without its folder and .py"
        )
    if module not in sys.modules:
        if not (trust or _trusted.get()):
            raise ConfigError(
                f"{at}{path} is a class outside of dglkgmix, and reading the run imports it: "
                "add --trust (in Python trust=True) where you trust that code"
            )
        if not {"", str(Path.cwd())} & set(sys.path):
            sys.path.append(str(Path.cwd()))
    try:
        with redirect_stdout(sys.stderr):  # Standard output is the command's own.
            return _imported(path)
    except (Exception, SystemExit) as error:  # The user's module may raise anything.
        if module == "__main__":
            raise ConfigError(
                f"{at}{path} was defined in a script or notebook: move it to a module, and name it "
                "module:Class"
            ) from None
        # Of a module in a package, its first part is what is missing.
        lacking = isinstance(error, ModuleNotFoundError) and f"{module}.".startswith(
            f"{error.name}."
        )
        advice = "; run this in the module's folder, or put that folder into PYTHONPATH"
        if module.endswith(".py"):
            advice = "; a module is named without .py"
        raise ConfigError(
            f"{at}{path} cannot be imported: {type(error).__name__}: {error}"
            f"{advice if lacking else ''}"
        ) from error


def _imported(path: str) -> Any:
    module, _, name = path.partition(":")
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found
