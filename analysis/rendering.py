"""Drawing by vl-convert, here or in a process of its own.

vl-convert keeps Python's lock while it draws, so a report draws in another process while it fits.
That process runs this file as a script: it imports nothing of this package, reads one request a
line from its input and writes one answer a line to its output.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import uuid
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

PIXELS = 1.5
"""Pixels of a PNG for each of the figure's own."""

PATIENCE = 120.0
"""Seconds that an answer of the process that draws may take."""

FORMATS = ("png", "svg", "pdf")

HOVER = "hover"
"""Name of the layer of a figure that is there for the tooltips alone."""


SMALLEST: dict[str, Any] = {
    "data": {"values": [{"x": 1}]},
    "mark": "point",
    "encoding": {"x": {"field": "x", "type": "quantitative"}},
}
"""A figure."""


def still(spec: dict[str, Any], forms: Sequence[str] = FORMATS) -> dict[str, bytes]:
    """The contents of image files of a figure, all from one drawing of it.

    Args:
        spec: a Vega-Lite specification.
        forms: of FORMATS.

    Returns:
        The contents by format.
    """
    import vl_convert

    svg = vl_convert.vegalite_to_svg(without_hover(spec), vl_version=version_of(spec))
    make = {
        "svg": svg.encode,
        "png": lambda: vl_convert.svg_to_png(svg, scale=PIXELS),
        "pdf": lambda: vl_convert.svg_to_pdf(svg),
    }
    return {form: make[form]() for form in forms}


@lru_cache(maxsize=1)
def library() -> str:
    """The JavaScript of Vega, Vega-Lite and vega-embed, for a <script> element.

    Putting it together takes more than a second, so it is kept among the user's caches.
    """
    import platformdirs
    import vl_convert

    newest = vl_convert.get_vegalite_versions()[-1]
    caches = platformdirs.user_cache_path("dp-bandit-sweep")
    version = metadata.version("vl-convert-python")
    path = caches / "drawing" / f"vega-lite-{newest}-vl-convert-{version}.js"
    if (kept := _kept(path)) is not None:
        return kept
    script = str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", newest))
    # In JavaScript these two stand in texts and patterns only, where an escape changes nothing.
    script = script.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    _keep(path, script)
    return script


def _kept(path: Path) -> str | None:
    """The content of a file that nobody but this user can have written, None if there is none."""
    try:
        for one in (path, path.parent):
            found = one.stat()
            if os.name == "posix" and (found.st_uid != os.getuid() or found.st_mode & 0o022):
                return None
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _keep(path: Path, text: str) -> None:
    """Write a file as a whole, where that is possible."""
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        temporary.write_text(text, encoding="utf-8")
        temporary.chmod(0o600)
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)


def version_of(spec: dict[str, Any]) -> str:
    """The version of Vega-Lite that a specification names, as vl-convert calls it: 6.4."""
    import vl_convert

    found = re.search(r"vega-lite/v(\d+\.\d+)", str(spec.get("$schema", "")))
    known = vl_convert.get_vegalite_versions()
    return found[1] if found and found[1] in known else known[-1]


def without_hover(spec: dict[str, Any]) -> dict[str, Any]:
    """The figure without the layer that only answers to the mouse."""
    inner = spec.get("spec", spec)
    if "layer" not in inner:
        return spec
    kept = {**inner, "layer": [one for one in inner["layer"] if one.get("name") != HOVER]}
    return {**spec, "spec": kept} if "spec" in spec else kept


def embedded(content: Any) -> str:
    """A value as JSON that cannot end the <script> element it stands in."""
    text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    escapes = {
        "<": "\\u003c",
        ">": "\\u003e",
        "&": "\\u0026",
        "\u2028": "\\u2028",
        "\u2029": "\\u2029",
    }
    for character, escape in escapes.items():
        text = text.replace(character, escape)
    return text


class Studio:
    """A process that draws; a context manager."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-P", __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self._line = ThreadPoolExecutor(max_workers=1)

    def __enter__(self) -> Studio:
        return self

    def __exit__(self, *_: object) -> None:
        self._line.shutdown(cancel_futures=True)
        assert self._process.stdin is not None and self._process.stdout is not None
        with contextlib.suppress(OSError):  # what a process that has ended did not read
            self._process.stdin.close()
        self._process.stdout.close()
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def still(self, spec: dict[str, Any]) -> Future[dict[str, bytes]]:
        """The files of a figure, as `still` makes them."""
        return self._line.submit(self._drawn, spec)

    def library(self) -> Future[str]:
        """The JavaScript, as `library` returns it."""
        return self._line.submit(lambda: str(self._ask(None)["library"]))

    def _drawn(self, spec: dict[str, Any]) -> dict[str, bytes]:
        answer = self._ask(spec)
        return {form: base64.b64decode(content) for form, content in answer.items()}

    def _ask(self, spec: dict[str, Any] | None) -> dict[str, str]:
        """One answer of the process; raises RuntimeError with its reason where it has none.

        A process that takes longer than PATIENCE is killed.
        """
        assert self._process.stdin is not None and self._process.stdout is not None
        line = b""
        bound = threading.Timer(PATIENCE, self._process.kill)
        bound.start()
        try:
            self._process.stdin.write(json.dumps(spec).encode() + b"\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
        except OSError:
            pass
        finally:
            bound.cancel()
        if not line.endswith(b"\n"):
            raise RuntimeError(f"the process that draws ended, or took more than {PATIENCE:g} s")
        answer = json.loads(line)
        if "error" in answer:
            raise RuntimeError(answer["error"])
        return dict(answer)


def main() -> None:
    """Answer requests until the input ends."""
    answers = sys.stdout
    sys.stdout = sys.stderr  # whatever a library prints must not stand between answers
    with contextlib.suppress(Exception):  # the first drawing takes long, whatever it is
        still(SMALLEST)
    for line in sys.stdin:
        spec = json.loads(line)
        try:
            if spec is None:
                answer = {"library": library()}
            else:
                files = still(spec)
                answer = {form: base64.b64encode(data).decode() for form, data in files.items()}
        except Exception as error:
            answer = {"error": " ".join(str(error).split())[:300] or type(error).__name__}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the program that asks decides
    main()
