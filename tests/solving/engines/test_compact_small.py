"""The method for small clusters: exact to the last digits, with limits, parts and any demand."""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from fairopt import criteria, fast
from fairopt.instance.generate import random_instance
from fairopt.solving.engines.compact import rows as compact_rows
from fairopt.solving.engines.compact import small as compact
from fairopt.solving.engines.compact.rows import CompactRows
from fairopt.solving.engines.point import AlphaQuestion


def question(inst, alpha=1.0, criterion="drf", inside=False):
    return AlphaQuestion.of(inst, criteria.score(inst, criterion), alpha, inside)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0, 5.0])
@pytest.mark.parametrize("density", [0.1, 0.5, 1.0])
@pytest.mark.parametrize("size", [(3, 2, 2), (30, 10, 3), (100, 20, 3)])
def test_it_ends_at_the_last_digits(size, density, alpha):
    for seed in range(2):
        inst = random_instance(*size, density=density, seed=seed)
        alloc = fo.solve(inst, fo.AlphaFair(alpha))
        steps = [step["step"] for step in alloc.steps if step["step"] != "reduce"]
        # a residual is how far the shares truly are, so tasks 1e-10 short are followed further
        assert steps[0] == "interior, small" and alloc.steps[-len(steps)]["residual"] < 1e-7
        assert set(steps[1:]) <= {"interior", "polish", "nearby"}
        assert max(alloc.certificate.gap, alloc.certificate.residual) < 1e-9


def integers(seed):
    """Servers alike and small integer demands: optima where more is tight than is unknown."""
    rng = np.random.default_rng(seed)
    users, servers, resources = rng.integers(2, 13), rng.integers(1, 7), rng.integers(1, 5)
    demand = rng.integers(0, 5, (users, resources)).astype(float)
    demand[demand.sum(axis=1) == 0] = 1
    capacity = np.tile(rng.integers(4, 13, resources) * 4.0, (servers, 1))
    placement = rng.random((users, servers)) < rng.choice([0.3, 0.6, 1.0])
    placement[np.arange(users), rng.integers(0, servers, users)] = True
    weight = rng.integers(1, 3, users).astype(float)
    return fo.Instance(demand, capacity, placement, weight=weight)


@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
def test_degenerate_optima_end_at_the_last_digits_too(alpha):
    notion = fo.AlphaFair(alpha, "tasks")
    for seed in range(80):
        found = fo.solve(integers(seed), notion, reduce=False)
        first = found.steps[0]
        assert first["step"] == "interior, small"
        assert first["gap"] < 1e-10 and first["residual"] < 1e-6, seed
        # where rows are full for no price, shares are proved to the root of rounding
        assert found.certificate.residual < 1e-7, seed


def test_more_full_rows_than_pairs_used():
    """All four rows of two servers are full with three pairs used: prices are not unique."""
    inst = fo.Instance(
        [[4, 32, 0], [8, 64, 1], [2, 4, 0]], [[1280, 5120, 0], [384, 3072, 32]], weight=[1, 2, 1]
    )
    alloc = fo.solve(inst, fo.ProportionalFair())
    assert max(alloc.certificate.gap, alloc.certificate.residual) < 1e-13
    np.testing.assert_allclose(alloc.totals, [32 + 320 / 3, 32, 1280 / 3], rtol=1e-13)


def test_it_agrees_with_the_interior_method(monkeypatch):
    inst = random_instance(20, 6, 3, density=0.5, seed=3, weight_decades=2, limits=0.3)
    small = fo.solve(inst, fo.AlphaFair(2), reduce=False)
    monkeypatch.setattr(compact, "follow", lambda asked: None)
    other = fo.solve(inst, fo.AlphaFair(2), reduce=False)
    assert [step["step"] for step in small.steps] == ["interior, small"]
    assert "interior, small" not in [step["step"] for step in other.steps]
    np.testing.assert_allclose(small.shares, other.shares, rtol=1e-6)


@pytest.mark.parametrize("limits", [0.0, 0.5, 1.0])
def test_limits_and_demand_by_server(limits):
    plain = random_instance(12, 4, 3, density=0.6, seed=1, zero_demand=0.3, limits=limits)
    rng = np.random.default_rng(0)
    demand = plain.demand_by_server * rng.uniform(0.5, 2, (12, 4, 1))
    for inst in (plain, plain.replace(demand=demand)):
        for criterion in ("tasks", "dominant-share"):
            alloc = fo.solve(inst, fo.AlphaFair(1.0, criterion), reduce=False)
            steps = [step["step"] for step in alloc.steps]
            assert steps[0] == "interior, small"
            assert set(steps[1:]) <= {"interior", "polish", "nearby"}
            assert alloc.certificate.residual < 1e-7
            assert (alloc.totals <= inst.limit * (1 + 1e-12)).all()


def test_parts_are_solved_together_and_servers_nobody_uses_cost_nothing():
    one = random_instance(4, 2, 2, seed=1)
    apart = fo.Instance(
        np.tile(one.demand, (2, 1)),
        np.vstack([one.capacity, 3 * one.capacity, [[5, 5]]]),
        np.hstack([np.kron(np.eye(2), np.ones((4, 2))), np.zeros((8, 1))]).astype(bool),
    )
    both = fo.solve(apart, fo.ProportionalFair(criterion="tasks"), reduce=False)
    assert [step["step"] for step in both.steps] == ["interior, small"]
    alone = fo.solve(one, fo.ProportionalFair(criterion="tasks"), reduce=False)
    np.testing.assert_allclose(both.totals[:4], alone.totals, rtol=1e-9)
    np.testing.assert_allclose(both.totals[4:], 3 * alone.totals, rtol=1e-9)
    assert (both.prices[4] == 0).all() and (both.tasks[:, 4] == 0).all()


def test_rows_are_the_sums_they_say():
    inst = random_instance(5, 3, 2, density=0.6, seed=2, limits=0.6, zero_demand=0.4)
    asked = question(inst)
    rows = CompactRows(asked)
    rng = np.random.default_rng(1)
    a, lam = rng.random(len(rows.n)), rng.random(rows.size)
    use = np.zeros((rows.size, len(a)))  # the matrix B, column by column
    for h in range(len(a)):
        one = np.zeros(len(a))
        one[h] = 1.0
        use[:, h] = rows.used(rows.grid(one))
    np.testing.assert_allclose(rows.used(rows.grid(a)), use @ a)
    np.testing.assert_allclose(rows.cost(lam), lam @ use)
    np.testing.assert_allclose(rows.gram(rows.grid(a)), (use * a) @ use.T)
    of_user = np.equal.outer(np.arange(5), rows.n)
    np.testing.assert_allclose(rows.coupled(rows.grid(a)), (use * a) @ of_user.T)
    table, each = rows.table, rng.random(rows.size + 5)
    assert table is not None
    for rows.table in (table, None):  # as one product, and by the grid
        np.testing.assert_allclose(rows.sums(a), np.concatenate([use @ a, of_user @ a]))
        np.testing.assert_allclose(rows.back(each), each @ np.concatenate([use, of_user]))
    np.testing.assert_allclose(rows.evenly(a), ((use > 0) / (use > 0).sum(axis=0)) @ a)
    most = ((use * a) @ of_user.T).max(axis=1)
    np.testing.assert_allclose(rows.largest(rows.grid(a)), most)
    # shares of one task on each pair use what the instance says
    part = np.zeros((5, 3))
    part[rows.n, rows.server] = asked.score[rows.n, rows.server]
    flat = inst.used(inst.eligible.astype(float)) / inst.pool
    found, _ = rows.split(rows.used(part.T))
    np.testing.assert_allclose(found, flat)


def test_what_it_leaves_to_others():
    inst = random_instance(6, 5, 2, seed=0)
    assert compact.follow(question(inst)) is not None
    assert compact.follow(question(inst, alpha=0.0)) is None
    assert compact.follow(question(inst, alpha=compact.STEEPEST * 2)) is None  # 30 pairs
    large = random_instance(10, 70, 3, seed=0)
    assert large.pool.size > compact.MOST_ROWS and compact.follow(question(large)) is None
    many = random_instance(3000, 10, 3, density=0.2, seed=0)
    assert compact.follow(question(many, alpha=compact.EASY + 1)) is None
    assert compact.follow(question(many, alpha=compact.EASY)) is not None
    broad = random_instance(750, 40, 3, density=0.2, seed=0)
    assert broad.pool.size > compact.LARGE_ROWS and compact.follow(question(broad)) is None
    wide = inst.replace(weight=np.geomspace(1e-150, 1, 6))
    assert compact.follow(question(wide)) is None


def test_where_everybody_can_be_everywhere_one_pool_goes_first():
    inst = random_instance(4000, 5, 3, density=1.0, seed=0)
    alloc = fo.solve(inst, fo.ProportionalFair("tasks"), reduce=False)
    assert [step["step"] for step in alloc.steps] == ["pool"] and alloc.certificate.certified
    some = random_instance(4000, 5, 3, density=0.2, seed=0)  # fewer than `pooled.DENSE`
    alloc = fo.solve(some, fo.ProportionalFair("tasks"), reduce=False)
    assert alloc.steps[0]["step"] == "interior, small" and alloc.certificate.certified


def test_a_wrong_point_is_not_believed(monkeypatch):
    """The ladder goes on where the judge does not prove what the method found."""
    inst = random_instance(8, 3, 2, seed=4)
    right = compact.follow

    def spoiled(asked):
        point = right(asked)
        return type(point)(
            point.x * np.linspace(0.5, 1, len(point.x))[:, None], point.rows, point.limits
        )

    monkeypatch.setattr(compact, "follow", spoiled)
    alloc = fo.solve(inst, fo.ProportionalFair())
    assert [step["step"] for step in alloc.steps][:2] == ["interior, small", "interior"]
    assert alloc.steps[0]["residual"] > 0.1 and alloc.certificate.certified


@pytest.mark.parametrize("alpha", [0.5, 1.0, 5.0])
def test_a_factor_leads_where_an_inverse_does(monkeypatch, alpha):
    asked = question(random_instance(12, 4, 3, density=0.6, seed=3, limits=0.3), alpha)
    inverted = compact.follow(asked)
    monkeypatch.setattr(compact_rows, "TINY", 0)
    factored = compact.follow(asked)
    np.testing.assert_allclose(factored.x.sum(axis=1), inverted.x.sum(axis=1), rtol=1e-9)
    np.testing.assert_allclose(factored.rows, inverted.rows, rtol=1e-6, atol=1e-9)


def test_a_matrix_that_is_not_positive_definite_has_no_solver():
    size = compact_rows.TINY + 1
    matrix = np.eye(size)
    matrix[0, 1] = matrix[1, 0] = 2.0
    with pytest.raises(np.linalg.LinAlgError):
        compact_rows.solver(matrix, np.zeros(size))


@pytest.mark.skipif(not fast.available(), reason="numba is not installed")
@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0, 8.0])
@pytest.mark.parametrize("limits", [0.0, 0.4])
def test_the_compiled_descent_ends_where_the_text_does(monkeypatch, alpha, limits):
    for size in ((3, 2, 2), (12, 4, 3), (30, 10, 3)):
        inst = random_instance(*size, density=0.6, seed=3, limits=limits, zero_demand=0.2)
        asked, ends = question(inst, alpha), []
        for choice in "01":
            monkeypatch.setenv(fast.CHOICE, choice)
            with fast.noted() as names:
                ends.append(compact.follow(asked))
            loops = {"descent"} if alpha > compact.DIRECT else {"begun", "descent", "ended"}
            assert names == (loops if choice == "1" else set())
        if None in ends:  # beyond STEEPEST pairs have to be few
            assert ends == [None, None]
            continue
        share = [(end.x * asked.score).sum(axis=1) for end in ends]
        near = 1e-9 if alpha <= compact.DIRECT else 1e-6  # rougher, where the path has strides
        np.testing.assert_allclose(*share, rtol=near)
        np.testing.assert_allclose(*(end.rows / end.rows.max() for end in ends), atol=10 * near)


@pytest.mark.skipif(not fast.available(), reason="numba is not installed")
def test_compiled_answers_are_certified_as_often(monkeypatch):
    """Weights over decades, limits, and servers alike: what the judge says of one and the other."""
    drawn = [integers(seed) for seed in range(20)]
    for seed in range(20):
        drawn.append(random_instance(8, 3, 2, density=0.5, seed=seed, weight_decades=6, limits=0.3))
    for inst in drawn:
        for alpha in (0.5, 1.0, 3.0, 30.0):
            seen = []
            for choice in "01":
                monkeypatch.setenv(fast.CHOICE, choice)
                seen.append(fo.solve(inst, fo.AlphaFair(alpha), uncertified="return"))
            text, compiled = seen
            assert compiled.certificate.certified == text.certificate.certified
            np.testing.assert_allclose(compiled.shares, text.shares, rtol=2e-6)


@pytest.mark.skipif(not fast.available(), reason="numba is not installed")
def test_numbers_that_are_none_end_the_compiled_descent(monkeypatch):
    """A state from which nothing can be reached comes back as it is, as from the text."""
    asked = question(random_instance(4, 2, 2, seed=0))
    for bad in (0.0, np.nan, np.inf):
        ends = []
        for choice in "01":
            monkeypatch.setenv(fast.CHOICE, choice)
            with np.errstate(all="ignore"):
                path = compact._SmallPath(asked, np.ones(4))
                state = path._start()
                state.whole[0] = bad
                ends.append(path._descend(state, compact.ENOUGH).whole)
        np.testing.assert_array_equal(*ends)
