"""Tables in text: 40 lines of 100 columns at most, plain, and true to the numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairopt as fo
from fairopt.commands.models import models_text
from fairopt.instance.generate import random_instance
from fairopt.report import tables
from fairopt.report.tables import allocation_text


def answer(users=2, servers=1, resources=2, names=None):
    rng = np.random.default_rng(1)
    inst = fo.Instance(
        rng.uniform(1, 2, (users, resources)), rng.uniform(5, 9, (servers, resources)), users=names
    )
    share = inst.alone / users
    prices = np.ones(inst.capacity.shape)
    alloc = fo.Allocation(inst, fo.ProportionalFair(), share, prices)
    return alloc.with_(certificate=fo.certify(alloc))


@pytest.mark.parametrize("size", [(1, 1, 1), (2, 1, 2), (60, 50, 3), (13, 12, 40), (500, 3, 2)])
def test_fits_the_page(size):
    lines = allocation_text(answer(*size), title="long " * 60).splitlines()
    assert len(lines) <= 40 and max(map(len, lines)) <= 100
    assert all(line == line.rstrip() and line.isprintable() for line in lines)


def test_shipped_cluster_fits_the_page():
    model = fo.read("real/google2011")
    text = allocation_text(fo.solve(model.instance, fo.ProportionalFair()), model.title)
    assert len(text.splitlines()) <= 40 and max(map(len, text.splitlines())) <= 100
    assert "\ncertified: gap" in text and "12,583 machines" in text


def test_small_is_shown_whole_and_long_is_counted():
    text = allocation_text(answer(12, 12, 1))
    assert all(f"\n{name} " in text for name in [*answer(12, 12, 1).instance.users, "s12"])
    assert "\n... " not in text
    text = allocation_text(answer(60, 50, 1))
    assert "\n... 50 more\n" in text and "\n... 40 more\n" in text
    assert "\nu10 " in text and "\nu11 " not in text


def test_numbers_are_those_of_the_answer():
    inst = fo.Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"], resources=["cpu", "mem"])
    text = allocation_text(fo.Allocation(inst, fo.ProportionalFair(), [[3.0], [2.0]]))
    assert text.splitlines()[2:] == [
        "user  weight  tasks  stopped by",
        "───────────────────────────────",
        "A          1      3  cpu on s1",
        "B          1      2  cpu on s1",
        "",
        "server  cpu used  mem used",
        "──────────────────────────",
        "s1       100.00%    77.78%",
        "",
        "NOT JUDGED",
    ]


def test_odd_names_stay_as_they_are():
    names = ["[bold]A[/bold]", ":fire:", "x" * 300]
    text = allocation_text(answer(3, names=names))
    assert "\n[bold]A[/bold] " in text and "\n:fire: " in text and "x" * 23 + "…" in text
    assert "\x1b" not in text


def test_uncertified_is_marked():
    wrong = answer(3, 2)
    wrong = wrong.with_(tasks=0.9 * wrong.tasks, certificate=None)
    wrong = wrong.with_(certificate=fo.certify(wrong))
    assert not wrong.certificate.certified
    assert "\nNOT CERTIFIED, " in allocation_text(wrong)
    right = fo.solve(wrong.instance, fo.ProportionalFair())
    assert "\ncertified: " in allocation_text(right)
    assert "\nNOT CERTIFIED as asked: " in allocation_text(right, accepted=False)


def test_models_text():
    shipped = fo.models()
    lines = models_text(shipped).splitlines()
    for model in shipped:  # whole, in a pipe
        assert any(x.split()[:1] == [model.name] and x.endswith(model.title) for x in lines)
    assert sum(x.startswith("kesidis2016") for x in lines) == 1
    assert max(map(len, models_text(shipped, 3, width=60).splitlines())) == 60
    assert "and 3 counterexamples" in models_text(shipped[:2], 3)


def test_levels_of_max_min_are_shown_and_fit_the_page():
    inst = fo.Instance(
        [[1, 0], [1, 0], [0, 1]], [[4, 9]], limit=[1, np.inf, np.inf], resources=["cpu", "mem"]
    )
    text = allocation_text(fo.solve(inst, fo.MaxMin("tasks")))
    table = text[text.index("step") : text.index("\n\ncertified")].splitlines()
    assert [" ".join(line.split()) for line in (table[0], *table[2:])] == [
        "step level stops full",
        "1 1 u1 limit of u1",
        "2 3 u2 cpu on s1",
        "3 9 u3 mem on s1",
    ]
    large = random_instance(50, 20, 3, density=0.1, seed=4, zero_demand=0.2)
    text = allocation_text(fo.solve(large, fo.MaxMin("drf")), title="many levels")
    assert len(text.splitlines()) <= 40 and max(map(len, text.splitlines())) <= 100
    assert "\n... 8 more\n\ncertified" in text


@given(st.data())
def test_tables_of_plain_letters_are_those_of_rich(data: st.DataObject) -> None:
    """Rich takes longer to import than a small model to solve; it is asked only when it must be."""
    text = st.text("ab 1.:[]%-", max_size=12)
    size = data.draw(st.integers(1, 5))
    rows = data.draw(st.lists(st.lists(text, min_size=size, max_size=size), max_size=4))
    head = data.draw(st.lists(text.filter(bool), min_size=size, max_size=size))
    left = tuple(data.draw(st.sets(st.integers(0, size - 1))))
    assert tables._drawn(head, rows, left) == tables._fitted(head, rows, left)
