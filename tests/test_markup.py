"""What notebooks show: tables in which every name is a name."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

import fairopt as fo
from fairopt import compare, markup

AWFUL = "<script>alert('1')</script>&\""


class Read(HTMLParser):
    """Elements and text of a piece of HTML; elements are closed in order."""

    def __init__(self, given):
        super().__init__()
        self.open, self.seen, self.words = [], set(), []
        self.feed(given)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture(scope="module")
def objects():
    inst = fo.Instance(
        [[1, 4], [3, 1]],
        [[9, 18]],
        users=[AWFUL, "b"],
        servers=[f"s{AWFUL}"],
        resources=[f"r{AWFUL}", "memory"],
        limit=[1, 5],
        weight=[1, 2],
    )
    answer = fo.solve(inst, fo.ProportionalFair())
    return {
        "instance": inst,
        "answer": answer,
        "certificate": answer.certificate,
        "explanation": answer.explain(AWFUL, again=False),
        "sweep": fo.sweep(inst, [fo.AlphaFair(1), fo.AlphaFair(2)]),
        "comparison": compare.rows(inst),
    }


@pytest.mark.parametrize(
    "kind", ["instance", "answer", "certificate", "explanation", "sweep", "comparison"]
)
def test_names_are_escaped(kind, objects):
    found = Read(objects[kind]._repr_html_())
    assert found.seen <= {
        "div",
        "p",
        "b",
        "ul",
        "li",
        "table",
        "caption",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
    }
    if kind in ("instance", "answer", "explanation"):
        assert any(AWFUL in words for words in found.words)


def test_large_tables_show_the_first_rows():
    inst = fo.generate.random_instance(500, 40, 3, density=0.3, seed=0)
    for shown in (inst, fo.solve(inst, fo.ProportionalFair())):
        found = Read(shown._repr_html_())
        text = " ".join(found.words)
        assert "and 488 more" in text and "and 28 more" in text
        assert text.count("u1") < 10 and len(shown._repr_html_()) < 20_000


def test_a_table_says_how_many_more():
    shown = markup.table("c", ["a"], ([k] for k in range(20)), 20)
    assert shown.count("<tr>") == 1 + markup.ROWS and "and 8 more" in shown


def test_a_comparison_is_a_frame():
    pytest.importorskip("pandas")
    found = compare.rows(fo.read("ghodsi2011/example").instance).to_frame()
    assert found.loc["max-min (drf)", "tasks.A"] == pytest.approx(3)
    assert found["envy-free"].dropna().isin([True, False]).all()
