"""Writes what commands print into pages: ``python -m tests.docs.update FOLDER PAGE...``.

Runs the blocks of the pages in FOLDER, epochs as the pages say, and replaces what is shown beneath
commands and after Python. Output that has ``...`` in it, and commands that show none, stay as they
are.
"""

import os
import sys
from pathlib import Path

from tests.docs.blocks import blocks
from tests.docs.runner import ANY, Runner, commands, shell


def updated(block):
    """The text of a console block with what its commands print now."""
    parts = []
    for command in commands(block.text):
        status, printed = shell(command.line)
        if status and "Error: " not in command.shown:
            raise SystemExit(f"{block.where}: {command.line}: exit status {status}\n{printed}")
        if command.shown.strip() and ANY not in command.shown.split():
            lines = [line.rstrip() for line in printed.rstrip().splitlines()]
            end = "\n\n" if command.shown.endswith("\n\n") else "\n"
            parts.append(f"$ {command.typed}" + "\n".join(lines) + end)
        else:
            parts.append(f"$ {command.typed}{command.shown}")
    return "".join(parts)


def main(folder, *names):
    """Update pages; paths are relative to where this is called."""
    pages = [Path(name).resolve() for name in names]
    os.chdir(folder)
    os.environ["COLUMNS"] = "100"
    for page in pages:
        runner = Runner(quick=False)
        for block in blocks(page):
            if block.language == "console":
                replace(page, block.text, updated(block))
            elif block.language == "text" and block.follows and runner.printed:
                replace(page, block.text, runner.printed)
            else:
                runner.run(block)


def replace(page, old, new):
    """Replace the first block of a page with the text ``old``."""
    text = page.read_text(encoding="utf-8")
    page.write_text(text.replace(f"\n{old}```\n", f"\n{new}```\n", 1), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
