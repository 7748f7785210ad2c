"""Rows filled to the last digit, in passes over partitions."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates import filled, filled_rows, partitions
from fairopt.certificates.partitions import JudgedTerms, Shown, spent, used
from fairopt.formulas.asked import AlphaAsked
from fairopt.instance.partition import Partition

INF = np.inf
MANY = 2_000


def ties(users: int, seed: int, limits: bool = False) -> fo.Instance:
    """Three servers that are alike but for their sizes, and a fourth that is not."""
    rng = np.random.default_rng(seed)
    demand = rng.lognormal(0, 1, (users, 2))
    one = np.array([2.0, 3.0])
    capacity = np.array([one, 2 * one, 0.7 * one, [3.0, 1.0]]) * users
    placement = rng.random((users, 4)) < 0.6
    placement[np.arange(users), rng.integers(0, 4, users)] = True
    weight = 10.0 ** rng.uniform(-2, 0, users)
    limit = np.where(rng.random(users) < 0.3 * limits, rng.uniform(0.1, 2, users), INF)
    return fo.Instance(demand, capacity, placement, weight, limit)


def in_passes(
    inst: fo.Instance, alpha: float, folder: Path, monkeypatch: pytest.MonkeyPatch, size: int = 800
) -> Path:
    """The answer in partitions, judged in passes however few its users are."""
    monkeypatch.setattr(partitions, "TOGETHER", 0)
    fo.write_partitions(inst, folder / "in", users=size)
    notion = fo.AlphaFair(alpha)
    fo.solve_partitions(folder / "in", notion, folder / "out", uncertified="return")
    return folder / "out"


@pytest.mark.parametrize(("alpha", "limits"), [(0.5, False), (2.0, True)])
def test_floats_are_not_what_limits_the_bound(
    alpha: float, limits: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sharper bound by far, in the same files."""
    answer = in_passes(ties(MANY, 3, limits), alpha, tmp_path, monkeypatch)
    found = fo.certify_partitions(answer)
    monkeypatch.setattr(filled_rows, "TRIES", 0)
    floats = fo.certify_partitions(answer)
    assert found.certified and found.residual < 0.05 * floats.residual


def test_whoever_is_off_is_never_called_near(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = in_passes(ties(MANY, 4), 1.0, tmp_path, monkeypatch)
    assert fo.certify_partitions(answer).certified
    path, prices = answer / "tasks-00001.npy", np.load(answer / "prices.npy")
    tasks = np.load(path)
    for part in (0.9e-6, 1.1e-6, 1e-4, 0.5):
        given = tasks.copy()
        given[11] *= 1 - part
        np.save(path, given)
        noise = np.random.default_rng(0).random(prices.shape)
        for factor in (1.0, 1 + 1e-12, 1 + 1e-8 * noise, 1 + 1e-3 * noise):
            np.save(answer / "prices.npy", prices * factor)
            found = fo.certify_partitions(answer)
            assert found.residual >= -np.log1p(-part) - 1e-8
            if part < 1e-6 and np.ndim(factor) == 0:
                assert found.certified


@pytest.mark.parametrize("seed", [3, 5])
def test_light_users_beside_heavy_ones_are_known(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights over four decades at alpha .5 are money over eight: rows are filled further than a
    first step fills them, whatever else has to be mended on the way."""
    weight = 10.0 ** np.random.default_rng(seed).uniform(-2, 2, MANY)
    inst = ties(MANY, seed).replace(weight=weight)
    answer = in_passes(inst, 0.5, tmp_path, monkeypatch)
    assert fo.certify_partitions(answer).certified
    tasks = np.load(answer / "tasks-00001.npy")
    tasks[np.argmin(weight[800:1600])] *= 1 - 1.1e-6
    np.save(answer / "tasks-00001.npy", tasks)
    assert not fo.certify_partitions(answer).certified


@pytest.mark.parametrize("compiled", ["0", "1"])
@pytest.mark.parametrize(("alpha", "limits"), [(0.5, False), (2.0, False), (2.0, True)])
def test_prices_at_which_somebody_pays_nothing_prove_nothing(
    compiled: str, alpha: float, limits: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A server without prices, in an answer that anybody may have written: no error either."""
    monkeypatch.setenv("FAIROPT_COMPILED", compiled)
    answer = in_passes(ties(60, 4, limits), alpha, tmp_path, monkeypatch, 60)
    prices, tasks = (np.load(answer / name) for name in ("prices.npy", "tasks-00000.npy"))
    for given, held in ((0.0, 1.0), (1.0, 0.5)):
        # rows that are not full lose theirs
        np.save(answer / "prices.npy", prices * np.array([given, 1, 1, 1])[:, None])
        np.save(answer / "tasks-00000.npy", tasks * np.array([held, 1, 1, 1]))
        found = fo.certify_partitions(answer)
        assert found.verdict == "unproved" and not found.residual < 1e-6


def test_after_a_filling_users_have_the_tasks_of_its_point(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Worked out again in every pass, as if they were written."""
    inst = ties(400, 4)
    answer = in_passes(inst, 1.0, tmp_path, monkeypatch, 400)
    tasks, prices = (np.load(answer / name) for name in ("tasks-00000.npy", "prices.npy"))
    noise = np.random.default_rng(1).random(prices.shape)
    asked = AlphaAsked(1.0, False, "tasks", inst.capacity, inst.count)
    terms = JudgedTerms.of(asked, prices * (1 + 1e-9 * noise))
    shown = Shown(Partition(inst.demand, inst.placement, inst.weight, inst.limit), tasks)
    with np.errstate(all="ignore"):
        first = used(shown, terms)
        at = filled_rows.Filling.of(terms, first, spent(shown, terms, first))
        at = at.moved(terms.pool, filled.summed(shown, terms, at))
        assert at is not None
        columns, amount = filled.moved(shown, terms, at)
        written = np.zeros(tasks.size)
        written[columns] = amount
        other = Shown(shown.users, written.reshape(tasks.shape))
        known = filled.summed(other, terms, at)
        found = filled.summed_after(shown, (at,), terms, at)
        same = filled.summed_after(shown, (), terms, at)
    assert not np.allclose(written.reshape(tasks.shape), tasks, rtol=1e-12)
    for name in ("high", "low", "error", "eps"):
        assert np.array_equal(getattr(found, name), getattr(known, name))
    assert not np.array_equal(same.high, found.high)


@pytest.mark.parametrize("seed", range(4, 8))
def test_prices_that_are_rough_prove_as_much_as_those_that_are_not(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of users who may be on several of the servers that are alike, prices with an error of 1e-8
    say wrongly who is where; steps find prices that do not."""
    answer = in_passes(ties(MANY, seed), 1.0, tmp_path, monkeypatch)
    prices = np.load(answer / "prices.npy")
    exactly = fo.certify_partitions(answer)
    noise = np.random.default_rng(1).random(prices.shape)
    np.save(answer / "prices.npy", prices * (1 + 1.5e-8 * noise))
    assert fo.certify_partitions(answer).residual <= 3 * exactly.residual
    # and far off nothing is proved, and nothing raised
    np.save(answer / "prices.npy", prices * (1 + 0.5 * noise))
    assert not fo.certify_partitions(answer).certified


def exactly(inst: fo.Instance, columns: np.ndarray, amount: np.ndarray) -> list[Fraction]:
    """What two floats of tasks use of every row, in fractions."""
    servers, resources = inst.capacity.shape
    use = [Fraction(0)] * (servers * resources)
    for column, high, low in zip(columns.tolist(), *amount.tolist(), strict=True):
        n, i = divmod(column, servers)
        for r in range(resources):
            need = Fraction(float(inst.demand[n, r]))
            use[i * resources + r] += need * (Fraction(high) + Fraction(low))
    return use


def test_what_is_left_of_rows_is_what_fractions_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside sums in fractions: no row is overrun, hardly anything is left, limits are kept."""
    inst = ties(400, 5, limits=True)
    answer = in_passes(inst, 1.0, tmp_path, monkeypatch, 400)
    tasks, prices = (np.load(answer / name) for name in ("tasks-00000.npy", "prices.npy"))
    asked = AlphaAsked(1.0, False, "tasks", inst.capacity, inst.count)
    terms = JudgedTerms.of(asked, prices)
    shown = Shown(Partition(inst.demand, inst.placement, inst.weight, inst.limit), tasks)
    with np.errstate(all="ignore"):
        first = used(shown, terms)
        at = filled_rows.Filling.of(terms, first, spent(shown, terms, first))
        start = filled.summed(shown, terms, at)
        at = at.moved(terms.pool, start)
        assert at is not None
        rows = filled.summed(shown, terms, at)
        point = filled.point(shown, terms, at)
        eps = rows.whole(at, terms)
    use = exactly(inst, point.columns, point.amount)
    known = zip(use, rows.high.flat, rows.low.flat, rows.error.flat, strict=True)
    for exact, high, low, error in known:
        assert abs(exact - Fraction(float(high)) - Fraction(float(low))) <= Fraction(float(error))
    left = [
        (Fraction(float(pool)) - row) / Fraction(float(pool))
        for pool, row in zip(terms.pool.flat, use, strict=True)
    ]
    assert all(each >= 0 for each in left)
    full = np.flatnonzero(at.full)
    assert len(full) and all(left[k] < 1e-18 for k in full)
    assert 0 < eps < 1e-17 * rows.money
    for n in np.flatnonzero(point.limited):
        mine = np.flatnonzero(point.columns // 4 == n)
        share = sum(Fraction(float(x)) for x in point.amount[:, mine].flat)
        assert abs(share / Fraction(float(inst.limit[n])) - 1) < 1e-26


def test_without_priced_rows_nothing_is_filled() -> None:
    none = np.zeros((1, 1))
    rows = filled_rows.RowSums(none, none, none, np.ones((1, 1, 1, 1)), INF, 0.0, 0.0)
    at = filled_rows.Filling(none, none, none > 0).moved(none + 1, rows)
    assert at is not None and not at.more.any() and not rows.close(INF)


@pytest.mark.parametrize("limits", [False, True])
def test_no_server_is_cheaper_than_a_share_is_worth(
    limits: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside fractions, at prices a trifle off: also where nobody was, as another was cheaper."""
    inst = ties(120, 5, limits)
    answer = in_passes(inst, 1.0, tmp_path, monkeypatch, 120)
    tasks, prices = (np.load(answer / name) for name in ("tasks-00000.npy", "prices.npy"))
    # each on one server alone, of those that cost the same
    tasks = np.where(tasks == tasks.max(axis=1)[:, None], tasks.sum(axis=1)[:, None], 0.0)
    terms = JudgedTerms.of(AlphaAsked(1.0, False, "tasks", inst.capacity, inst.count), prices)
    shown = Shown(Partition(inst.demand, inst.placement, inst.weight, inst.limit), tasks)
    more = 1e-13 * prices * np.random.default_rng(2).uniform(-1, 1, prices.shape)
    none = np.zeros((*prices.shape, *prices.shape))
    filling = filled_rows.Filling(prices, more, prices > 0, slope=none)
    seen: list[tuple[np.ndarray, ...]] = []
    lost = filled._lost

    def noted(shown, terms, *given):
        seen.append(given)
        return lost(shown, terms, *given)

    monkeypatch.setattr(filled, "_lost", noted)
    with np.errstate(all="ignore"):
        filled.summed(shown, terms, filling)
        (value, share, short, over, eps) = seen[0]
        whole = lost(shown, terms, value, share, short, over, eps)[0]
        if limits:  # whoever is over its limit pays for it
            much = np.where(np.isfinite(inst.limit), inst.limit, 0.0)
            assert lost(shown, terms, value, share, short, over + much, eps)[0] > whole
    elsewhere = 0
    for n in range(len(value)):
        cost = {
            i: sum(
                Fraction(float(d)) * (Fraction(float(p)) + Fraction(float(q)))
                for d, p, q in zip(inst.demand[n], prices[i], more[i], strict=True)
            )
            for i in np.flatnonzero(inst.placement[n]).tolist()
        }
        # a float of a value that is known to more digits
        assert Fraction(float(value[n])) <= min(cost.values()) * (1 + Fraction(2) ** -52)
        elsewhere += not tasks[n, min(cost, key=cost.__getitem__)] > 0
    assert elsewhere
