"""What extensions put on pages: measurements folded into few, sizes with sliders, letters."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests import browser

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def extensions():
    sys.path.insert(0, str(DOCS / "_ext"))
    try:
        import folded
        import letters
        import sizes

        yield folded, sizes, letters
    finally:
        sys.path.remove(str(DOCS / "_ext"))


@pytest.fixture(scope="module")
def built(extensions):
    """The pages below docs/measured as Sphinx reads them."""
    whole = extensions[0].Folded()
    return {
        page: whole.page((DOCS / "measured" / f"{page}.md").read_text(encoding="utf-8"), page)
        for page in whole.parts
    }


def test_every_part_stands_on_one_of_eight_pages(extensions):
    rows = list(extensions[0].parts().values())
    assert len(rows) <= 8
    listed = [part for row in rows for part in row]
    assert sorted(listed) == sorted(path.stem for path in (DOCS / "results").glob("*.md"))
    shown = re.findall(r"^[a-z]+$", (DOCS / "measured" / "index.md").read_text(), flags=re.M)
    assert set(shown) == {"size", *extensions[0].PAGES}


def test_links_of_folded_pages_lead_to_their_headings(built):
    from markdown_it import MarkdownIt
    from myst_parser.mdit_to_docutils.base import github_slugify, unique_slug

    slugs: dict[str, set[str]] = {}
    for page, text in built.items():
        slugs[page] = set()
        tokens = MarkdownIt("commonmark").parse(text)
        for token, inline in zip(tokens, tokens[1:], strict=False):
            if token.type == "heading_open":
                kept = [c.content for c in inline.children if c.type in ("text", "code_inline")]
                slugs[page].add(unique_slug(github_slugify("".join(kept)), slugs[page]))
    links = 0
    for page, text in built.items():
        assert "results/" not in "".join(re.findall(r"\]\([^)]*\.md[^)]*\)", text))
        for target, anchor in re.findall(r"\]\((?:(\w+)\.md)?#([^)]+)\)", text):
            assert anchor in slugs[target or page], (page, target, anchor)
            links += 1
    assert links > 60


def test_files_of_folded_pages_exist(built):
    files = [
        file
        for text in built.values()
        for file in re.findall(r"(?:\]\(|\{figure\} )([\w./-]+\.(?:svg|json|toml))", text)
    ]
    assert len(files) >= 3
    assert all((DOCS / "measured" / file).exists() for file in files), files


def test_links_from_other_pages_are_mended(extensions):
    whole = extensions[0].Folded()
    given = "[a](../results/mechanisms.md#pareto-optimal-2) [b](../results/trust.md) [c](x.md#y)"
    made = whole.relinked(given, "notions/ps-dsf")
    assert made == (
        "[a](../measured/papers.md#pareto-optimal-2) "
        "[b](../measured/trust.md#trust-answers-tried-wrong-refused-crashed) [c](x.md#y)"
    )
    with pytest.raises(LookupError, match="trust.md has no heading #nowhere"):
        whole.relinked("[a](results/trust.md#nowhere)", "index")


def test_the_table_of_sizes_has_what_was_measured(extensions):
    rows = extensions[1].measured()
    assert len(rows) > 60 and all(row[3] > 0 for row in rows)
    growth = (DOCS / "results" / "growth.md").read_text(encoding="utf-8")
    million = next(row for row in rows if row[0] == 1_000_000 and row[2] == "10 servers")
    assert f"| 1,000,000 | 10,000,000 | {million[3]:.3g} s |" in growth
    assert "| 1,000,000 | 10 | 10,000,000 | 10 servers |" in extensions[1].sizes()


def test_letters_of_a_notion_are_explained_on_its_page(extensions):
    letters = extensions[2]
    for path in sorted((DOCS / "notions").glob("*.md")):
        if path.stem != "index":
            made = letters.explained(path.read_text(encoding="utf-8"))
            assert "| $n$, $i$, $r$ | user, server, resource |" in made, path
    made = letters.explained((DOCS / "notions" / "max-min.md").read_text(encoding="utf-8"))
    assert "| $\\phi_n$ | `weight` |" in made
    assert "| $k_i$" not in made  # there k is a level


@browser.needed()
def test_the_sliders_show_the_nearest_measured_clusters(extensions, tmp_path):
    text = extensions[1].sizes()
    page = tmp_path / "size.html"
    body = re.search(r"```\{raw\} html\n(.*?)\n```", text, flags=re.S)[1]
    page.write_text(f'<!doctype html><html lang="en"><title>size</title>{body}', encoding="utf-8")
    told: list[str] = []
    with browser.opened(tmp_path) as drawn:
        sheet = drawn.new_page()
        sheet.on("pageerror", lambda error: told.append(str(error)))
        sheet.goto(page.as_uri())
        before = sheet.locator("#near tbody").inner_text()
        sheet.locator("input[name=users]").fill("6")
        sheet.locator("input[name=servers]").fill("1")
        after = sheet.locator("#near tbody tr").first.inner_text()
        said = sheet.locator("output[name=users_said]").inner_text()
        sheet.evaluate(browser.axe())
        faults = sheet.evaluate("axe.run('form').then(r => r.violations.map(v => v.id))")
    assert before.count("\n") == 3 and after.startswith("1,000,000\t10\t")
    assert said == "1,000,000" and told == []
    # a fragment has no landmarks; everything else holds
    assert not set(faults) - {"region"}
