"""MathJax is taken from an installed package, so that the built pages need no network.

One file, with the fonts drawn as SVG, is all that the pages need (2 MB of the package's 24).
MathJax is Apache-2.0, as fairopt is.
"""

from __future__ import annotations

import shutil
from importlib.metadata import files
from pathlib import Path
from typing import Any

FILE = "tex-svg-full.js"


def source() -> Path:
    """The file in the installed package sphinx-mathjax-offline."""
    for entry in files("sphinx-mathjax-offline") or ():
        if entry.name == FILE:
            return Path(str(entry.locate()))
    raise FileNotFoundError(f"{FILE} of sphinx-mathjax-offline; install fairopt[dev]")


def copy(app: Any, exception: Exception | None) -> None:
    if exception is None and app.builder.format == "html":
        folder = Path(app.outdir, "_static")
        folder.mkdir(exist_ok=True)
        shutil.copyfile(source(), folder / FILE)


def setup(app: Any) -> dict[str, bool]:
    app.config.mathjax_path = FILE
    app.connect("build-finished", copy)
    return {"parallel_read_safe": True}
