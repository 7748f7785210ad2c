"""Pictures of built pages as a reader sees them first: python docs/_ext/walk.py HTML FOLDER

Needs Chromium and playwright; the pictures stand in docs/results/documentation.md.
"""

from __future__ import annotations

import shutil
import sys
from io import BytesIO
from pathlib import Path

PAGES = (
    "index",
    "choose/notion",
    "notions/max-min",
    "gallery/notebooks/notebook_1_printed",
    "measured/peers",
)


def main(html: Path, folder: Path) -> None:
    """One PNG a page, of few colours, so that they are light."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        found = shutil.which("chromium")
        browser = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        for name in PAGES:
            page.goto((html / f"{name}.html").resolve().as_uri())
            page.wait_for_timeout(2000)  # formulas are set after the page is there
            shot = Image.open(BytesIO(page.screenshot())).convert("RGB")
            path = folder / f"walk-{name.rpartition('/')[2]}.png"
            shot.quantize(32).save(path, optimize=True)
            print(path, path.stat().st_size)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
