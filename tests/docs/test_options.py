"""docs/options.md is what the options' declarations say."""

import runpy

from dglkgmix.config.settings import OPTIONS
from tests.conftest import ROOT


def test_the_page_is_the_declarations():
    made = runpy.run_path(str(ROOT / "docs" / "options.py"))
    text = (ROOT / "docs" / "options.md").read_text(encoding="utf-8")
    assert text == made["page"](), "run: python docs/options.py"
    assert sum(line.startswith("| `") for line in text.splitlines()) == len(OPTIONS)


def test_who_reads_an_option_and_its_range():
    row = runpy.run_path(str(ROOT / "docs" / "options.py"))["row"]
    assert row(OPTIONS["strategy.threshold"]) == (
        "`threshold`",
        "`5`",
        "0 or more",
        "`--threshold`",
        "mixup, oversample, reweight",
        "Treat tail-relation degrees below it.",
    )
    norm = ("`1`, `2`", "", "transe", "TransE: the norm of the distance.")
    assert row(OPTIONS["model.norm"])[2:] == norm
    assert row(OPTIONS["strategy.draws"])[2] == '1 or more, `"all"`'
    assert row(OPTIONS["strategy.fixed_lambda"])[1:3] == ('`"none"`', 'in [0, 1], `"none"`')
