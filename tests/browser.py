"""A headless Chromium for tests that draw a page; where there is none they are skipped, loudly."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
SWITCHES = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def missing() -> str:
    """Why no page can be drawn here; "" if it can."""
    if os.environ.get("FAIROPT_CHROMIUM") is None and not any(map(shutil.which, NAMES)):
        return "NO BROWSER: the pages of `fairopt report` are NOT tested (apt-get install chromium)"
    if find_spec("playwright") is None:
        return "NO PLAYWRIGHT: the pages of `fairopt report` are NOT tested (pip install -e .[dev])"
    return ""


def needed() -> pytest.MarkDecorator:
    """The mark of a test that draws a page."""
    return pytest.mark.skipif(bool(missing()), reason=missing())


@contextmanager
def opened(folder: Path) -> Iterator[Any]:
    """A browser with a profile of its own."""
    from playwright.sync_api import sync_playwright

    found = os.environ.get("FAIROPT_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)))
    with sync_playwright() as driver:
        browser = driver.chromium.launch_persistent_context(
            str(folder / "profile"), executable_path=found, args=SWITCHES
        )
        try:
            yield browser
        finally:
            browser.close()


def axe() -> str:
    """The script of axe-core (MPL-2.0), which the package axe-playwright-python brings along."""
    import axe_playwright_python

    (path,) = Path(axe_playwright_python.__file__).parent.rglob("axe.min.js")
    return path.read_text(encoding="utf-8")
