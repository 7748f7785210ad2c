"""Pictures of one answer and of a comparison: what must be in them is looked for in the SVG."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import fairopt as fo
from fairopt.cli import run
from fairopt.properties.envy import envy, envy_free
from fairopt.report import plot_answer

pytest.importorskip("matplotlib")
FIGURE = fo.read("khamse2016/figure-1").instance


@pytest.fixture(scope="module")
def answer():
    return fo.solve(FIGURE, fo.ProportionalFair())


def drawn(alloc, kind, folder, **more):
    path = folder / f"{kind}.svg"
    plot_answer.plot(alloc, path, kind, **more)
    return path.read_text()


def test_the_matrix_of_envy_agrees_with_the_property():
    alloc = fo.Allocation(FIGURE, fo.ProportionalFair(), [[3, 0], [1, 0], [0, 6]])
    matrix = envy(alloc)
    assert np.diag(matrix) == pytest.approx(alloc.totals)
    worst = ((matrix - np.diag(matrix)[:, None]) / np.where(matrix > 0, matrix, 1)).max()
    assert worst == pytest.approx(envy_free(alloc).residual) and worst > 0.1
    # by hand: u2 with what u1 has on s1, for the same weight
    inst = FIGURE
    need = inst.demand[1]
    with np.errstate(divide="ignore"):
        runs = 3 * inst.demand[0] / np.where(need > 0, need, np.nan)
    assert matrix[1, 0] == pytest.approx(np.nanmin(runs))


@pytest.mark.parametrize("kind", plot_answer.KINDS)
def test_every_kind_names_what_it_shows(answer, kind, tmp_path):
    text = drawn(answer, kind, tmp_path)
    assert text == drawn(answer, kind, tmp_path)
    words = {
        "allocation": ["n1", "s2  ram", "used (part of the capacity)"],
        "prices": ["s1", "network", "price per unit"],
        "levels": ["n3", "share / weight"],
        "envy": ["n3", "above 1 is envy"],
    }
    for word in words[kind]:
        assert word in text


def test_bars_are_as_wide_as_what_users_take(answer, tmp_path):
    text = drawn(answer, "allocation", tmp_path)
    widths = []
    for k in range(3):
        group = re.search(rf'<g id="user-{k}">.*?d="M ([^"]*)"', text, re.DOTALL)
        xs = [float(x) for x in re.findall(r"(?:^|L )([\d.]+) [\d.]+", group[1])]
        widths.append(max(xs) - min(xs))
    # the first bar is cpu of s1
    part = answer.tasks[:, 0] * FIGURE.demand[:, 0]
    assert np.array(widths) / sum(widths) == pytest.approx(part / part.sum(), abs=1e-3)


def test_names_are_drawn_as_they_are(tmp_path):
    inst = FIGURE.replace(users=["$x^2$", "</svg>", "b_c"], servers=["_s_", "$"])
    alloc = fo.solve(inst, fo.ProportionalFair())
    for kind in plot_answer.KINDS:
        text = drawn(alloc, kind, tmp_path)
        assert text.count("</svg>") == 1


def test_many_users_and_servers(tmp_path):
    alloc = fo.solve(fo.generate.random_instance(90, 30, 2, seed=2), fo.ProportionalFair())
    text = drawn(alloc, "allocation", tmp_path)
    assert "83 others" in text and "14 more servers" in text
    drawn(alloc, "levels", tmp_path)
    with pytest.raises(fo.UsageError, match="at most 40"):
        drawn(alloc, "envy", tmp_path)
    with pytest.raises(fo.UsageError, match="prices"):
        drawn(fo.solve(FIGURE, fo.MaxMin()), "prices", tmp_path)


def test_size_and_style(answer, tmp_path):
    text = drawn(answer, "levels", tmp_path, size=(4.0, 2.0), style="slides")
    assert 'width="288pt" height="144pt"' in text
    for wrong in ({"style": "poster"}, {"size": (0.1, 3.0)}):
        with pytest.raises(fo.UsageError, match="wanted"):
            drawn(answer, "levels", tmp_path, **wrong)


def test_the_command_draws_every_result(tmp_path, capsys):
    results = {
        "answer": ["solve"],
        "comparison": ["compare"],
        "sweep": ["sweep", "--over", "alpha=1,2"],
    }
    for name, (command, *more) in results.items():
        out = str(tmp_path / f"{name}.json")
        assert run([command, "ghodsi2011/example", *more, "-o", out]) == 0
        picture = tmp_path / f"{name}.svg"
        assert run(["plot", out, "-o", str(picture), "--size", "5x3"]) == 0
        assert picture.read_text().startswith("<?xml")
    rows = json.loads((tmp_path / "comparison.json").read_text())["rows"]
    text = (tmp_path / "comparison.svg").read_text()
    assert "max-min (drf)" in text and "efficiency" in text and len(rows) > 20
    capsys.readouterr()
    for wrong, said in (
        (["--kind", "frontier"], "for an answer"),
        (["--size", "big"], "such as 5.2x3.4"),
        (["-o", str(tmp_path / "x.gif")], ".png"),
    ):
        line = ["plot", str(tmp_path / "answer.json"), "-o", str(tmp_path / "y.svg"), *wrong]
        assert run(line) == 2
        assert said in capsys.readouterr().err
    assert not (tmp_path / "y.svg").exists()


def test_compare_draws(tmp_path):
    picture = tmp_path / "compare.png"
    assert run(["compare", "ghodsi2011/example", "--plot", str(picture)]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_whole_numbers_have_whole_ticks(tmp_path):
    path = tmp_path / "counts.svg"
    inst = fo.read("ghodsi2011/example").instance
    found = fo.sweep(
        None,
        [(inst.replace(count=[k]), fo.MaxMin()) for k in (1, 2, 3)],
        parameters=[{"count.pool": k} for k in (1, 2, 3)],
    )
    from fairopt.report.plots import plot

    plot(found, path, kind="shares")
    ticks = re.findall(r'<g id="xtick_\d+">.*?<text[^>]*>(.*?)</text>', path.read_text(), re.DOTALL)
    assert ticks == ["1", "2", "3"]


@pytest.mark.parametrize("kind", list(plot_answer.KINDS))
@pytest.mark.parametrize("model", ["quotas/m1", "quotas/h1", "quotas/c1", "rules/r2"])
def test_answers_with_modes_groups_and_rules_are_drawn(tmp_path, model, kind):
    alloc = fo.solve(fo.read(model).instance, fo.ProportionalFair())
    plot_answer.plot(alloc, tmp_path / "picture.svg", kind=kind)
    text = (tmp_path / "picture.svg").read_text()
    assert all(user in text for user in alloc.instance.users[:1]) or kind == "prices"


def test_parts_are_those_of_modes_and_users_of_two_groups_have_no_cell():
    """4 A100 and 10 T4: a holds 4 and 1, b 9; 1A and 2A are of two organisations."""
    modes = {"a": [fo.Mode("fast", (1, 0)), fo.Mode("slow", (0, 1), 0.5)]}
    inst = fo.Instance([[0, 0], [0, 1]], [[4, 10]], users=["a", "b"], modes=modes)
    bars = plot_answer.allocation(fo.solve(inst, fo.ProportionalFair())).axes[0].patches
    assert [bar.get_width() for bar in bars] == pytest.approx([1, 0.1, 0, 0.9])
    teams = fo.Quotas([fo.Group("x"), fo.Group("y")], {"a": "x", "b": "x", "c": "y"})
    three = fo.Instance([[1]] * 3, [[6]], users=["a", "b", "c"], quotas=teams)
    drawn = plot_answer.envies(fo.solve(three, fo.MaxMin("tasks"))).axes[0]
    assert len(drawn.texts) == 5 and np.ma.getmaskarray(drawn.images[0].get_array())[0, 2]
