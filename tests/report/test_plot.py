"""Plots: what must be in the picture is looked for in the SVG; the same rows, the same bytes."""

from __future__ import annotations

import math
import re
import sys
from html import unescape

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairopt as fo
from fairopt.measures import measure
from fairopt.report.plot_data import scale
from fairopt.report.plot_lines import spread
from fairopt.report.plots import plot

pytest.importorskip("matplotlib")
INST = fo.read("kesidis2016/no-penalty").instance
ALPHAS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0)


EFFICIENT = np.array([[3.5, 0.0], [1.0, 5.0], [0.5, 0.5]])
EQUAL = np.array([[1.8, 0.84375], [1.2, 2.25], [1.2, 0.84375]])


def row(alpha, **more):
    """Some answer between an efficient and an equal one: what is drawn needs no solver."""
    tasks = (EFFICIENT + alpha * EQUAL) / (1 + alpha)
    answer = fo.Allocation(INST, {"name": "alpha-fair", "parameters": {"alpha": alpha}}, tasks)
    return {
        "parameters": {"alpha": alpha},
        "certified": True,
        "reason": "",
        "notion": {"name": "alpha-fair", "parameters": {"alpha": alpha, "criterion": "tasks"}},
        "shares": dict(zip(INST.users, answer.shares.tolist(), strict=True)),
        "measures": measure(answer),
        **more,
    }


@pytest.fixture(scope="module")
def rows():
    return [row(alpha) for alpha in ALPHAS]


def failed(rows, *which):
    return [
        {**r, "certified": False, "shares": {}, "measures": {}, "reason": "no"} if k in which else r
        for k, r in enumerate(rows)
    ]


def uncertified(rows, *which):
    return [{**r, "certified": False} if k in which else r for k, r in enumerate(rows)]


def drawn(tmp_path, rows, **options):
    """The SVG, its texts, and the ids of what was drawn."""
    path = tmp_path / "picture.svg"
    plot(rows, path, **options)
    svg = path.read_text(encoding="utf-8")
    texts = {unescape(t) for t in re.findall(r"<text[^>]*>([^<]*)</text>", svg)}
    return svg, texts, set(re.findall(r'<g id="([a-z]+[^"]*)"', svg))


def markers(svg, gid):
    """How many markers were drawn under an id."""
    parts = svg.split(f'<g id="{gid}">')[1:]
    return sum(part.split("<g id=")[0].count("<use ") for part in parts)


@pytest.mark.parametrize("ending", ["png", "pdf", "svg"])
@pytest.mark.parametrize("kind", ["frontier", "shares", "utilisation"])
def test_the_same_rows_are_the_same_bytes(rows, tmp_path, kind, ending):
    import matplotlib as mpl

    one, two = tmp_path / f"one.{ending}", tmp_path / f"two.{ending.upper()}"
    plot(rows, one, kind)
    with mpl.rc_context({"font.size": 20, "svg.fonttype": "path", "savefig.dpi": 50}):
        plot(rows, two, kind)  # whatever the user's own settings
        assert mpl.rcParams["font.size"] == 20
    content = one.read_bytes()
    assert content == two.read_bytes()
    assert content.startswith({"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml"}[ending])
    assert b"Date" not in content and b"Matplotlib v" not in content


def test_shares_have_a_named_line_for_each_user(rows, tmp_path):
    svg, texts, ids = drawn(tmp_path, rows)
    assert {"n1", "n2", "n3", "alpha (no unit)", "share (tasks)"} <= texts
    assert {"0.1", "1", "10"} <= texts  # a grid of ratios is on a logarithmic axis
    assert {i for i in ids if i.startswith("line-")} == {"line-0-0", "line-0-1", "line-0-2"}
    colours = {re.search(r"stroke: (#\w+)", svg.split(f'id="line-0-{k}"')[1])[1] for k in range(3)}
    assert len(colours) == 3 and not any(i.startswith("hollow") for i in ids)


def test_utilisation_has_a_line_for_each_resource(rows, tmp_path):
    _, texts, ids = drawn(tmp_path, rows, kind="utilisation")
    assert {"r1", "r2", "used (part of the capacity)"} <= texts
    assert {i for i in ids if i.startswith("line-")} == {"line-0-0", "line-0-1"}


def test_uncertified_points_are_hollow_and_failed_ones_are_crossed(rows, tmp_path):
    spoiled = failed(uncertified(rows, 1, 2), 4)
    svg, texts, _ = drawn(tmp_path, spoiled, kind="shares")
    assert {"hollow: not certified", "no answer"} <= texts
    for k in range(3):
        assert markers(svg, f"hollow-0-{k}") == 2
        # one point between two gaps would be on no line: it has a marker
        assert markers(svg, f"line-0-{k}") == 3
    svg, texts, ids = drawn(tmp_path, spoiled, kind="frontier")
    assert {"hollow: not certified", "1 of 6 without an answer"} <= texts
    assert markers(svg, "points-0-hollow") == 2
    assert markers(svg, "points-0-frontier") + markers(svg, "points-0") == 3


def test_lone_points_of_long_sweeps_are_marked(rows, tmp_path):
    many = [{**rows[2], "parameters": {"alpha": 1.0 + k}} for k in range(60)]
    svg, _, _ = drawn(tmp_path, failed(many, 34, 36))
    with_lone = markers(svg, "line-0-0")
    svg, _, _ = drawn(tmp_path, many)
    assert with_lone == markers(svg, "line-0-0") + 1 <= 10


def test_frontier_has_every_point_and_says_what_is_better(rows, tmp_path):
    svg, texts, _ = drawn(tmp_path, rows, kind="frontier", x="jain", y="efficiency")
    assert {"better ↗", "frontier", "alpha = 0.1", "Jain's index of the levels"} <= texts
    assert markers(svg, "points-0-frontier") + markers(svg, "points-0") == len(rows)
    _, texts, _ = drawn(tmp_path, rows, kind="frontier")
    assert {"better ↖", "√var F over users (dominant shares)"} <= texts
    _, texts, _ = drawn(
        tmp_path,
        rows,
        kind="frontier",
        x="max_level",
        lowest=["max_level"],
        labels={"max_level": "$highest"},
    )
    assert {"better ↖", "$highest"} <= texts


def two_parameters(rows):
    return [{**r, "parameters": {**r["parameters"], "t_pf": t}} for t in (0, 5) for r in rows]


def test_a_second_parameter_is_a_panel_or_a_colour(rows, tmp_path):
    both = two_parameters(rows)
    svg, texts, _ = drawn(tmp_path, both)  # two parameters: the frontier
    assert {"t_pf = 0", "t_pf = 5", "better ↖"} <= texts
    assert markers(svg, "points-0") + markers(svg, "points-0-frontier") == len(rows)
    _, texts, ids = drawn(tmp_path, both, kind="shares")
    assert {"t_pf = 0", "t_pf = 5"} <= texts
    assert {i for i in ids if i.startswith("line-")} == {
        f"line-{panel}-{user}" for panel in range(2) for user in range(3)
    }
    _, texts, ids = drawn(tmp_path, both, kind="shares", where={"t_pf": 5.0})
    assert "line-1-0" not in ids and "t_pf = 5" not in texts
    _, texts, ids = drawn(tmp_path, both, kind="shares", over="t_pf", where={"alpha": 1})
    assert "t_pf, weight of var F (no unit)" in texts


def test_notions_are_told_apart(rows, tmp_path):
    both = [{**r, "notion": {"name": name}} for name in ("max-min", "tradeoff") for r in rows]
    for kind in ("frontier", "shares"):
        _, texts, _ = drawn(tmp_path, both, kind=kind)
        assert {"notion = max-min", "notion = tradeoff"} <= texts
    alone = [{**r, "parameters": {}} for r in both[5:7]]
    _, texts, _ = drawn(tmp_path, alone)
    assert {"notion = max-min", "notion = tradeoff", "better ↖"} <= texts


def test_rows_of_other_parameters_are_not_lost(rows, tmp_path):
    other = {**rows[0], "parameters": {"criterion": ["a", "b"]}}
    mixed = [*({**r, "parameters": {**r["parameters"], "criterion": "c"}} for r in rows), other]
    svg, texts, _ = drawn(tmp_path, mixed, kind="frontier")
    assert {"criterion = c", "criterion = ['a', 'b']"} <= texts
    count = sum(markers(svg, f"points-{k}{kind}") for k in (0, 1) for kind in ("", "-frontier"))
    assert count == len(mixed)
    _, texts, _ = drawn(tmp_path, mixed, kind="shares", over="alpha")
    assert "1 of 7 have no alpha" in texts


def test_a_share_beyond_floating_point_is_no_answer(rows, tmp_path):
    huge = [
        {**r, "shares": dict.fromkeys(INST.users, math.inf)} if k == 2 else r
        for k, r in enumerate(rows)
    ]
    _, texts, _ = drawn(tmp_path, huge)
    assert "no answer" in texts
    with pytest.raises(fo.UsageError, match="found no row with an answer"):
        plot([huge[2], {**huge[2], "parameters": {"alpha": 2.0}}], tmp_path / "p.svg")


@pytest.mark.parametrize(("users", "named"), [(8, "ends"), (9, "legend"), (40, "two")])
def test_many_users_are_all_drawn(rows, tmp_path, users, named):
    names = [f"user {k:02d}" for k in range(users)]
    many = [
        {**r, "shares": {name: k + r["parameters"]["alpha"] for k, name in enumerate(names)}}
        for r in rows
    ]
    _, texts, ids = drawn(tmp_path, many)
    assert len([i for i in ids if i.startswith("line-0-")]) == users
    assert len(texts & set(names)) == (2 if named == "two" else users)
    if named == "two":
        assert texts & set(names) == {names[0], names[-1]}
        assert any(t.startswith("40 lines") for t in texts)


def test_names_are_names_not_formulas(rows, tmp_path):
    odd = ["$x^2$ & <b>", "_private", "字" * 30]
    rows = [{**r, "shares": dict(zip(odd, r["shares"].values(), strict=True))} for r in rows]
    svg, texts, _ = drawn(tmp_path, rows)
    assert {"$x^2$ & <b>", "_private", "字" * 23 + "…"} <= texts
    plot(rows, tmp_path / "odd.png")  # a font without the letters is no error
    many = [{**r, "shares": {**r["shares"], **{f"_{k}": 1.0 for k in range(9)}}} for r in rows]
    _, texts, _ = drawn(tmp_path, many)
    assert {"$x^2$ & <b>", "_private", "_0", "_8"} <= texts


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "pie"}, "kind: found 'pie'; wanted one of frontier, shares, utilisation"),
        ({"kind": "frontier", "x": "gini"}, "measure: found 'gini'; wanted one of efficiency"),
        ({"kind": "frontier", "x": "max_level"}, "found no better end; wanted lowest"),
        ({"kind": "frontier", "over": "alpha"}, "over: found with kind='frontier'"),
        ({"kind": "shares", "x": "jain"}, "x: found with kind='shares'"),
        ({"over": "t_pf"}, "over: found 't_pf'; wanted one of alpha"),
        ({"where": {"alpha": 7}}, "where: found alpha = 7; wanted one of 0.1, 0.3, 1"),
        ({"where": {"beta": 7}}, "where: found beta = 7; wanted one of no such parameter"),
    ],
)
def test_what_makes_no_sense_is_refused(rows, tmp_path, options, message):
    with pytest.raises(fo.UsageError, match=re.escape(message)):
        plot(rows, tmp_path / "p.svg", **options)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["picture.jpg", "picture", "-", "a.svg.gz"])
def test_another_ending_is_refused(rows, name, tmp_path):
    with pytest.raises(fo.UsageError, match=r"wanted a name that ends in .png, .svg, .pdf"):
        plot(rows, tmp_path / name)


def test_nothing_to_draw_is_refused(rows, tmp_path):
    for given_rows, words in [
        ([], "found 0 rows"),
        (7, "found int; wanted a sweep"),
        (["row"], "each a mapping"),
        (failed(rows, *range(6)), "found no row with an answer"),
        (rows[:1], "found no number that varies"),
    ]:
        with pytest.raises(fo.UsageError, match=words):
            plot(given_rows, tmp_path / "p.svg", "shares")
    with pytest.raises(fo.UsageError, match="found no row with both sqrt_var_f and efficiency"):
        plot(failed(rows, *range(6)), tmp_path / "p.svg", "frontier")
    settings = [{**r, "parameters": {**r["parameters"], "t_pf": t}} for t in range(9) for r in rows]
    with pytest.raises(fo.UsageError, match="found 9 settings of t_pf; wanted at most 6"):
        plot(settings, tmp_path / "p.svg", "shares", over="alpha")
    with pytest.raises(fo.UsageError, match="does not exist"):
        plot(rows, tmp_path / "nowhere" / "p.svg")


def test_without_matplotlib_it_says_what_to_install(rows, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(fo.MissingExtra, match=r"pip install 'fairopt\[plot\]'"):
        plot(rows, tmp_path / "p.svg")


@pytest.mark.parametrize(
    ("grid", "kind"),
    [
        ([0, 10, 20, 30, 40], "linear"),
        ([1, 2, 3], "linear"),
        ([0.1, 1, 10, 100], "log"),
        ([1, 2, 5, 10, 20, 50, 100], "log"),
        ([0, 0.01, 0.1, 1, 10], "symlog"),
        ([-1, 1, 10, 100, 1000], "linear"),
        ([0, 1000], "linear"),
        ([k * 1000 / 24 for k in range(25)], "linear"),
        ([10 ** (k / 8) for k in range(25)], "log"),
    ],
)
def test_a_grid_of_ratios_is_logarithmic(grid, kind):
    assert scale(grid) == kind


@given(st.lists(st.floats(-50, 350), min_size=1, max_size=12).map(sorted))
def test_names_are_pushed_apart_as_little_as_can_be(want):
    place = spread(want, 10.0, 0.0, 300.0)
    assert all(b - a >= 10 - 1e-9 for a, b in zip(place, place[1:], strict=False))
    assert place[0] >= -1e-9 and place[-1] <= 300 + 1e-9
    if all(0 <= w <= 300 for w in want) and all(
        b - a >= 10 for a, b in zip(want, want[1:], strict=False)
    ):
        assert place == pytest.approx(want)
    assert math.isfinite(sum(place))
