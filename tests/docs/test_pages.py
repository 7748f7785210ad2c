"""Built pages in a browser: weight, no network, contrast, and what a keyboard reaches.

They are those of docs/_build/html, which .ci/run builds before the tests.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from tests import browser

DOCS = Path(__file__).parents[2] / "docs"
HTML = DOCS / "_build" / "html"
HEAVY = 3e6
"""bytes of a page with formulas, of which MathJax is 2.2e6; or with many pictures"""
LIGHT = 4e5
PAGES = {
    "index": LIGHT,
    "choose/notion": LIGHT,
    "how-to/kubernetes": LIGHT,
    "notions/max-min": HEAVY,
    "maths/max-min": HEAVY,
    "gallery/index": HEAVY,
    "gallery/notebooks/index": LIGHT,
    "gallery/notebooks/notebook_1_printed": LIGHT,
    "gallery/notions/plot_alpha": LIGHT,
    "measured/size": LIGHT,
    "measured/peers": HEAVY,
    "reference/api": LIGHT,
}
"""most bytes that a browser loads for a page, pictures below the fold left out"""


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    with browser.opened(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.fixture(scope="module")
def extension() -> Any:
    spec = importlib.util.spec_from_file_location("reachable", DOCS / "_ext" / "reachable.py")
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


@browser.needed()
@pytest.mark.skipif(
    not (HTML / "index.html").exists(),
    reason="NOT BUILT: pages are not tested (sphinx-build -b html docs docs/_build/html)",
)
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_light_needs_no_network_and_is_read_by_all(chromium, name):
    asked: set[str] = set()
    page = chromium.new_page()
    page.on("request", lambda request: asked.add(request.url))
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto((HTML / f"{name}.html").as_uri())
    page.wait_for_load_state("load")
    page.evaluate(browser.axe())
    # in the dark nothing but colours is another
    for scheme, only in (("light", "{}"), ("dark", "{runOnly: ['color-contrast']}")):
        page.emulate_media(color_scheme=scheme)
        found = page.evaluate(f"axe.run({only}).then(r => r.violations)")
        bad = [(fault["id"], fault["nodes"][0]["html"][:200]) for fault in found]
        assert bad == [], scheme
    page.close()
    assert {urlsplit(url).scheme for url in asked} <= {"file", "data"}
    files = {Path(unquote(urlsplit(url).path)) for url in asked if url.startswith("file:")}
    assert sum(file.stat().st_size for file in files if file.exists()) < PAGES[name]


@browser.needed()
@pytest.mark.skipif(not (HTML / "index.html").exists(), reason="NOT BUILT: the front page")
def test_the_front_page_has_kubernetes_in_its_first_screen_and_no_line_scrolls(chromium):
    page = chromium.new_page()
    page.set_viewport_size({"width": 1280, "height": 800})
    page.goto((HTML / "index.html").as_uri())
    shown = "e => [e.innerText, e.scrollWidth - e.clientWidth, e.getBoundingClientRect().bottom]"
    code = page.evaluate(f"[...document.querySelectorAll('pre')].map({shown})")
    page.close()
    plan = next(row for row in code if "fairopt plan -" in row[0])
    assert plan[2] < 800
    assert any("pip install" in row[0] for row in code)
    assert [row[0] for row in code if row[1] > 0] == []


def test_corners_of_tables_and_sidebars_are_named(extension):
    table = '<tr><th class="head"><p></p></th><th class="head"><p>a</p></th></tr><th></th>'
    assert extension.reachable(table) == (
        '<tr><td></td><th class="head"><p>a</p></th></tr><td></td>'
    )
    page = '<aside class="sidebar-drawer"></aside><aside class="toc-drawer no-toc"></aside>'
    named = extension.named(page)
    assert named.count("aria-label=") == 2 and extension.named(named) == named


def test_what_scrolls_is_reached_and_pictures_have_words(extension):
    body = '<pre>x</pre><div class="table-wrapper docutils"><table></table></div>'
    assert extension.reachable(body).count('tabindex="0"') == 2
    link = '<a class="reference internal" href="plot_a.html"><span class="doc">A</span></a>'
    assert extension.reachable(link) == link
    shown = extension.reachable(f'<div class="sphx-glr-thumbcontainer">{link}</div>')
    assert 'aria-label="A" href="plot_a.html"' in shown
    given = '<p class="caption" role="heading">Start</p>'
    assert 'role="heading" aria-level="2"' in extension.levelled(given)
