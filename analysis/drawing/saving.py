"""Figures as files, and as text for a page; rendered by vl-convert, without a browser."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

from analysis.drawing.marks import HOVER

PIXELS = 1.5
"""Pixels of a PNG for each of the figure's own."""

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
    spec = figure.to_dict()
    if form == "json":
        path.write_text(json.dumps(spec, ensure_ascii=False), encoding="utf-8")
    elif form == "html":
        path.write_text(html(spec), encoding="utf-8")
    else:
        path.write_bytes(still(spec, (form,))[form])
    return path


def still(spec: dict[str, Any], forms: tuple[str, ...] = ("svg", "png", "pdf")) -> dict[str, bytes]:
    """The contents of image files of a figure, all from one drawing of it, by format."""
    import vl_convert

    svg = vl_convert.vegalite_to_svg(without_hover(spec), vl_version=vega_lite())
    make = {
        "svg": svg.encode,
        "png": lambda: vl_convert.svg_to_png(svg, scale=PIXELS),
        "pdf": lambda: vl_convert.svg_to_pdf(svg),
    }
    return {form: make[form]() for form in forms}


def html(spec: dict[str, Any]) -> str:
    """A page with one interactive figure that loads nothing from elsewhere."""
    return (
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n<div id="figure"></div>\n'
        f"<script>{library()}</script>\n"
        f'<script type="application/json" id="spec">{embedded(spec)}</script>\n'
        "<script>vegaEmbed('#figure', JSON.parse(document.getElementById('spec').textContent),"
        " {actions: false});</script>\n</html>\n"
    )


@lru_cache(maxsize=1)
def library() -> str:
    """The JavaScript of Vega, Vega-Lite and vega-embed, for a <script> element."""
    import vl_convert

    # In JavaScript these two can stand in texts and patterns only, where the escape changes nothing.
    script = str(vl_convert.javascript_bundle(vl_version=vega_lite()))
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--")


def embedded(content: Any) -> str:
    """A value as JSON that cannot end the <script> element it stands in."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    escapes = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028",
               "\u2029": "\\u2029"}  # fmt: skip
    for character, escape in escapes.items():
        text = text.replace(character, escape)
    return text


def without_hover(spec: dict[str, Any]) -> dict[str, Any]:
    """The figure without the layer that only answers to the mouse."""
    inner = spec.get("spec", spec)
    if "layer" not in inner:
        return spec
    kept = {**inner, "layer": [one for one in inner["layer"] if one.get("name") != HOVER]}
    return {**spec, "spec": kept} if "spec" in spec else kept


@lru_cache(maxsize=1)
def vega_lite() -> str:
    """The version of Vega-Lite that Altair writes, as vl-convert names it: 6.4."""
    import altair

    return ".".join(altair.SCHEMA_VERSION.lstrip("v").split(".")[:2])
