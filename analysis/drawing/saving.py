"""Figures as files, and as text for a page; rendered by vl-convert, without a browser."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from analysis.rendering import embedded, library, still

FORMATS = ("png", "svg", "pdf", "html", "json")


def save(figure: Any, path: str | Path) -> Path:
    """Write a figure; the ending of `path` says how.

    Args:
        figure: an Altair chart.
        path: ends in .png, .svg, .pdf (still), .html (interactive, complete in itself) or .json
            (the Vega-Lite specification).

    Returns:
        The path.

    Raises:
        ValueError: for another ending.
    """
    path = Path(path)
    form = path.suffix.lstrip(".")
    if form not in FORMATS:
        allowed = ", ".join(f".{name}" for name in FORMATS)
        raise ValueError(f"path: {path.name!r} has no known ending; allowed: {allowed}")
    spec = figure.to_dict(validate=False)
    if form == "json":
        path.write_text(json.dumps(spec, ensure_ascii=False), encoding="utf-8")
    elif form == "html":
        path.write_text(html(spec), encoding="utf-8")
    else:
        path.write_bytes(still(spec, (form,))[form])
    return path


def html(spec: dict[str, Any]) -> str:
    """A page with one interactive figure that loads nothing from elsewhere."""
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<div id="figure"></div>\n'
        f"<script>{library()}</script>\n"
        f'<script type="application/json" id="spec">{embedded(spec)}</script>\n'
        "<script>vegaEmbed('#figure', JSON.parse(document.getElementById('spec').textContent),"
        " {actions: false});</script>\n</html>\n"
    )
