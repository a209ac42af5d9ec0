"""Draws the picture of docs/guides/report.md: ``python docs/img/mrr_by_degree.py FOLDER``.

FOLDER is what ``dglkgmix demo`` (``make demo``) wrote. The file goes beside this one.
"""

from __future__ import annotations

import sys
from pathlib import Path

from dglkgmix import DegreeBins, Run
from dglkgmix.report.figures.bars import draw_mrr_by_bin
from dglkgmix.report.figures.canvas import save
from dglkgmix.report.subject import read_subjects


def main(folder: Path) -> None:
    """Write mrr-by-degree.png."""
    bins = DegreeBins()
    subjects = read_subjects([Run.open(folder / n) for n in ("standard", "mixup")], "test", bins)
    figure, _ = draw_mrr_by_bin({s.name: s.estimates(bins) for s in subjects})
    save(figure, Path(__file__).with_name("mrr-by-degree.png"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
