"""``python docs/options.py`` writes docs/options.md from the declarations in dglkgmix/config."""

from __future__ import annotations

from pathlib import Path

from dglkgmix.config.classes import NAMES, reads
from dglkgmix.config.option import Option
from dglkgmix.config.settings import OPTIONS, SECTIONS, flag_of
from dglkgmix.config.toml import toml_value

PAGE = Path(__file__).resolve().parent / "options.md"
COLUMNS = ("option", "default", "values", "flag", "read by", "what")
BAR = "\\|"
HEAD = """# Options

Every option of a training, as it stands in `config.toml`; `--set table.option=value` sets any of
them. One that `--set` or a flag names and that nothing reads is refused; a file may hold options
that its model or strategy does not read. `auto` is settled when a training begins, `same` is the
main stage's value. Classes of [your own](guides/extending.md) may bring more.
"""


def page() -> str:
    """The text of the page."""
    parts = [HEAD]
    for table, section in SECTIONS.items():
        about = (section.__doc__ or "").split("\n")[0].replace("``", "`")
        rows = [COLUMNS, ("---",) * len(COLUMNS)]
        rows += [row(option) for option in OPTIONS.values() if option.key.startswith(f"{table}.")]
        lines = [f"| {' | '.join(cell.replace('|', BAR) for cell in cells)} |" for cells in rows]
        parts += [f"## {about}\n", "\n".join(lines) + "\n"]
    return "\n".join(parts)


def row(option: Option) -> tuple[str, ...]:
    """The cells of an option."""
    default = f"`{toml_value(option.default)}`" + (f": {option.auto}" if option.auto else "")
    flag = flag_of(option.key)
    readers = [name for name in NAMES.get(option.of, ()) if option.name in reads(option.of, name)]
    shown = f"`{flag}`" if flag else ""
    return f"`{option.name}`", default, _values(option), shown, ", ".join(readers), option.help


def _values(option: Option) -> str:
    if option.classes:
        return ", ".join(f"`{name}`" for name in [*NAMES[option.classes], "module:Class"])
    values = [f"`{toml_value(choice)}`" for choice in option.choices]
    if option.bounds:
        words = option.bounds.words.removeprefix("must ")
        values.insert(0, words.removeprefix("be ").removeprefix("lie "))
    return ", ".join(values)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
