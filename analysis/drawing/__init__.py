"""Figures: how series look, axes, the layers of a chart, and files.

A figure is an Altair chart, defined once for page, PNG, SVG, PDF and notebook:

    from analysis import drawing

    drawing.save(figure, "figure.pdf")
"""

from analysis.drawing.axes import Axis, axis
from analysis.drawing.items import Envelope, Item, Knee, Series, Stripe, every
from analysis.drawing.layers import chart
from analysis.drawing.saving import save
from analysis.drawing.styles import (
    GUIDES,
    LOWER_BOUND,
    LOWER_BOUND_KNEE,
    Look,
    baseline_look,
    look,
)

__all__ = [
    "GUIDES",
    "LOWER_BOUND",
    "LOWER_BOUND_KNEE",
    "Axis",
    "Envelope",
    "Item",
    "Knee",
    "Look",
    "Series",
    "Stripe",
    "axis",
    "baseline_look",
    "chart",
    "every",
    "look",
    "save",
]
