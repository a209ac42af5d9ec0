"""Draws the readme's picture from the demo's runs: ``python docs/img/mrr_by_degree.py FOLDER``.

FOLDER is what ``dglkgmix demo`` (``make demo``) wrote. The file goes beside this one.
"""

from __future__ import annotations

import sys
from pathlib import Path

from dglkgmix import DegreeBins, Run
from dglkgmix.report.figures.canvas import save
from dglkgmix.report.figures.mrr_by_bin import Estimate, draw_mrr_by_bin
from dglkgmix.report.subject import read_subjects


def main(folder: Path) -> None:
    """Write mrr-by-degree.png."""
    bins = DegreeBins()
    subjects = read_subjects([Run.open(folder / n) for n in ("standard", "mixup")], "test", bins)
    shown = {
        s.name: {
            name: Estimate(
                s.account["bins"][name]["mrr"],
                *(s.intervals[name] or (None, None)),
                queries=s.account["bins"][name]["queries"],
            )
            for name in bins.names
        }
        for s in subjects
    }
    save(draw_mrr_by_bin(shown), Path(__file__).with_name("mrr-by-degree.png"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
