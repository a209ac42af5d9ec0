"""What every figure shares: size, colours, labels, and SVG for a page or a file for print.

A figure is drawn with matplotlib's objects alone (no ``pyplot``, no global state) in colours for
white paper. :func:`page_svg` turns it into an inline SVG whose colours are CSS variables, so that
one drawing serves a light and a dark page, and whose text stays text.
"""

from __future__ import annotations

import html
import io
import re
import unicodedata
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, MUTED, GRID, PAPER = "#1b1f24", "#59636e", "#d9dee3", "#fefefe"
# Okabe and Ito's colours, safe for the common colour deficiencies. Markers and hatches tell the
# series apart in grey print.
SERIES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#6b6b6b", "#7a3b00")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
HATCHES = ("", "//", "", "xx", "", "..", "\\\\", "--")
_VARIABLES = {
    INK: "--ink",
    MUTED: "--muted",
    GRID: "--grid",
    PAPER: "--paper",
    **{colour: f"--series-{place + 1}" for place, colour in enumerate(SERIES)},
}
_RC: Any = {
    # Names of entities and relations are text, never mathematics.
    "text.parse_math": False,
    "text.usetex": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "dglkgmix",
    "font.family": "sans-serif",
    "font.size": 10.5,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.titlesize": 10.5,
    "axes.titlelocation": "left",
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "ytick.major.size": 0,
    "figure.facecolor": "none",
    "hatch.linewidth": 0.7,
    "legend.frameon": False,
    "legend.fontsize": 10.5,
    "lines.linewidth": 1.8,
    "lines.markersize": 5,
}


# Inches of a panel that stands beside others on a page.
PANEL = (4.1, 3.3)


@contextmanager
def _page_style() -> Iterator[None]:
    """The page's style; a reader's browser has the glyphs that matplotlib's font lacks."""
    import matplotlib as mpl

    with mpl.rc_context(_RC), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        yield


@contextmanager
def drawing(
    width: float = 5.4, height: float = 3.4, panels: int = 1
) -> Iterator[tuple[Figure, list[Axes]]]:
    """A figure, in inches, with ``panels`` axes side by side, to be painted within the block."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, NullFormatter

    with _page_style():
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        panel_axes = figure.subplots(1, panels, squeeze=False)[0].tolist()
        yield figure, panel_axes
        for axes in panel_axes:
            for axis in (axes.xaxis, axes.yaxis):
                if axis.get_scale() == "log":
                    # 1,000 in place of matplotlib's mathematics.
                    plain = FuncFormatter(lambda x, _: f"{x:,.0f}" if x >= 1 else f"{x:g}")
                    axis.set_major_formatter(plain)
                    axis.set_minor_formatter(NullFormatter())
        figure.draw_without_rendering()
        # Laid out once: every file of a figure then has the same geometry.
        figure.set_layout_engine("none")


def line_style(place: int) -> dict[str, Any]:
    """Colour and marker of a series, by its place."""
    return {"color": SERIES[place % len(SERIES)], "marker": MARKERS[place % len(MARKERS)]}


def legend(axes: Axes, handles: Sequence[Any], names: Sequence[str]) -> None:
    """A legend above ``axes`` that shows ``names`` as they are.

    matplotlib itself hides labels that start with an underscore.
    """
    shown = [shorten(name) for name in names]
    figure: Any = axes.figure
    room = int(11 * figure.get_figwidth())
    columns = max(1, min(len(shown), room // (max(map(len, shown), default=0) + 5)))
    # matplotlib fills columns first; readers go along rows.
    order = [i for column in range(columns) for i in range(column, len(shown), columns)]
    drawn = axes.legend(
        [handles[i] for i in order],
        [f"series {i}" for i in order],
        ncols=columns,
        loc="lower left",
        bbox_to_anchor=(0.0, 1.02),
        borderaxespad=0.0,
        handlelength=1.4,
        columnspacing=1.4,
    )
    for text, i in zip(drawn.get_texts(), order, strict=True):
        text.set_text(shown[i])


def shorten(name: str, length: int = 32) -> str:
    """``name`` for a label: its middle left out where it is longer than ``length`` characters.

    Control characters, which SVG cannot hold, and line ends are shown as U+FFFD.
    """
    name = "".join("\ufffd" if unicodedata.category(c) == "Cc" else c for c in name)
    if len(name) <= length:
        return name
    head = (length - 1) // 2
    return f"{name[:head]}…{name[len(name) - (length - 1 - head) :]}"


def page_svg(figure: Figure, name: str, title: str, alt: str) -> str:
    """``figure`` as inline SVG for a page.

    Args:
        figure: what :func:`drawing` gave.
        name: unique on the page; every id in the SVG starts with it.
        title: a short accessible name.
        alt: what the picture shows, in words.
    """
    buffer = io.StringIO()
    with _page_style():
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    svg = buffer.getvalue()
    tag, rest = svg[svg.index("<svg") :].split(">", 1)
    rest = re.sub(r"<(metadata|style).*?</\1>\s*", "", rest, flags=re.DOTALL)
    for colour, variable in _VARIABLES.items():
        rest = rest.replace(colour, f"var({variable}, {colour})")
    rest = re.sub(r"(font(?:-family)?: ?[^;\"]*?)'[^;\"]*", r"\1inherit", rest)
    rest = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", rest)
    attributes = dict(re.findall(r'(\w+)="([^"]*)"', tag))
    pixels = float(attributes["width"].removesuffix("pt")) * 4 / 3
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'viewBox="{attributes["viewBox"]}" role="img" aria-labelledby="{name}-title {name}-desc" '
        f'style="max-width: {pixels:.0f}px; stroke-linejoin: round; stroke-linecap: butt">'
        f'<title id="{name}-title">{html.escape(title)}</title>'
        f'<desc id="{name}-desc">{html.escape(alt)}</desc>{rest}'
    )


def save(figure: Figure, path: str | Any, ending: str | None = None) -> None:
    """Write ``figure`` for print: svg, pdf or png, by ``ending`` or else the file name's."""
    import matplotlib as mpl

    with mpl.rc_context(_RC):
        figure.savefig(path, format=ending, facecolor="white", dpi=200)
