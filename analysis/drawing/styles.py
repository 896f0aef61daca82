"""How series look: colour, dash and marker together, so that a figure reads without colour."""

from __future__ import annotations

from typing import Any, NamedTuple

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000", "#7F7F7F")
"""Okabe and Ito's palette, which keeps apart for colour-blind readers."""

MARKERS = (
    "M-.45,0A.45,.45,0,1,1,.45,0A.45,.45,0,1,1,-.45,0Z",  # circle
    "M-.42,-.42H.42V.42H-.42Z",  # square
    "M-.5,.42L0,-.48L.5,.42Z",  # triangle
    "M0,-.56L.5,0L0,.56L-.5,0Z",  # diamond
    "M-.5,-.42L0,.48L.5,-.42Z",  # triangle, pointing down
    "M-.16,-.5H.16V-.16H.5V.16H.16V.5H-.16V.16H-.5V-.16H-.16Z",  # plus
    "M-.46,-.23L-.23,-.46L0,-.23L.23,-.46L.46,-.23L.23,0L.46,.23L.23,.46L0,.23L-.23,.46"
    "L-.46,.23L-.23,0Z",  # cross
    "M0,-.58L.17,-.19L.57,-.18L.25,.08L.35,.48L0,.25L-.35,.48L-.25,.08L-.57,-.18"
    "L-.17,-.19Z",  # star
)
"""SVG paths within a circle of radius ½."""

DASHES: tuple[tuple[float, ...], ...] = (
    (1, 0),
    (7, 3),
    (8, 3, 2, 3),
    (6, 2, 1.5, 2, 1.5, 2),
    (4, 2),
    (1.5, 1.5),
)

FONT = "Liberation Sans, Arial, Helvetica, sans-serif"
"""The first is what figures are measured and saved with; the others have its widths."""

CONFIG: dict[str, Any] = {
    "font": FONT,
    "axis": {
        "gridOpacity": 0.5,
        "labelFontSize": 11,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 8,
    },
    "header": {"labelFontSize": 12},
    "legend": {"labelFontSize": 11},
    "title": {
        "anchor": "start",
        "fontSize": 14,
        "offset": 12,
        "subtitleColor": "#444444",
        "subtitleFontSize": 11,
        "subtitlePadding": 5,
    },
    "view": {"stroke": None},
}


class Look(NamedTuple):
    """Colour, dash pattern and marker (an SVG path, "" for none) of a series."""

    colour: str
    dash: tuple[float, ...] = (1, 0)
    marker: str = ""

    @property
    def sample(self) -> str:
        """The line with its marker that stands in the legend, an SVG path."""
        return f"M-1.9,0L1.9,0{self.marker}"


LOWER_BOUND = Look("#000000", (1.5, 2.5))
LOWER_BOUND_KNEE = Look("#000000", (8, 3))
GUIDES = (Look("#000000", (1.5, 2.5)), Look("#000000", (1.5, 6)))


def look(index: int) -> Look:
    """The look of the series number `index`."""
    return Look(
        COLOURS[index % len(COLOURS)],
        DASHES[index % len(DASHES)],
        MARKERS[(index + index // len(COLOURS)) % len(MARKERS)],
    )


def baseline_look(index: int) -> Look:
    """The look of the baseline number `index`: a grey line without markers."""
    greys = ("#262626", "#4d4d4d", "#737373", "#999999")
    dashes = ((1.0, 0.0), (12.0, 3.0), (7.0, 3.0, 2.0, 3.0))
    return Look(greys[index % len(greys)], dashes[index % len(dashes)])
