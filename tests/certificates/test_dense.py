"""Sums over tables in pieces, against exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import fairopt as fo
from fairopt import fast
from fairopt.certificates import columns as module
from fairopt.certificates import compiled as module_compiled
from fairopt.certificates import dense
from fairopt.certificates.asking import asked
from fairopt.certificates.begun import place_of
from fairopt.certificates.given import given
from fairopt.formulas.doubles import exact_product, exact_sum


def drawn(users: int, servers: int, spread: float, seed: int) -> tuple[np.ndarray, ...]:
    """Demands, columns and amounts of two floats each, over some decades."""
    rng = np.random.default_rng([users, servers, seed])
    demand = 10 ** rng.uniform(-spread, spread, (users, 2)) * (rng.random((users, 2)) < 0.9)
    columns = np.flatnonzero(rng.random(users * servers) < 0.7)
    high = 10 ** rng.uniform(-spread, spread, len(columns)) * (rng.random(len(columns)) < 0.9)
    low = high * 2.0**-54 * rng.uniform(-1, 1, len(columns))
    return demand, columns, np.stack([high, low])


COMPILED = pytest.param(
    "1", id="compiled", marks=pytest.mark.skipif(not fast.available(), reason="needs numba")
)


@pytest.mark.parametrize("compiled", [pytest.param("0", id="numpy"), COMPILED])
@pytest.mark.parametrize("second", [True, False], ids=["two floats", "one"])
@pytest.mark.parametrize("spread", [0.5, 3.0, 30.0])
@pytest.mark.parametrize(("users", "piece"), [(40, 7), (600, 1 << 12)])
def test_use_is_exact_but_for_its_error(
    monkeypatch, users, piece, spread, second, compiled
) -> None:
    monkeypatch.setenv(fast.CHOICE, compiled)
    monkeypatch.setattr(dense, "USERS", piece)
    monkeypatch.setattr(module_compiled, "PIECE", piece)
    demand, columns, amount = drawn(users, 3, spread, 0)
    amount = amount * [[1.0], [float(second)]]
    high, low, error = dense.used(demand, 3, columns, amount)
    for i in range(3):
        for r in range(2):
            at = np.flatnonzero(columns % 3 == i)
            truth = sum(
                (
                    Fraction(demand[columns[k] // 3, r])
                    * (Fraction(amount[0, k]) + Fraction(amount[1, k]))
                    for k in at.tolist()
                ),
                Fraction(0),
            )
            off = abs(Fraction(high[i, r]) + Fraction(low[i, r]) - truth)
            assert off <= Fraction(error[i, r])
            if spread < 1:  # next to nothing, and more than the last digits are right
                assert error[i, r] <= 2.0**-80 * float(truth)


@pytest.mark.parametrize("compiled", [pytest.param("0", id="numpy"), COMPILED])
@pytest.mark.parametrize("by_server", [False, True])
def test_what_tasks_bring_is_exact_but_for_its_error(monkeypatch, by_server, compiled) -> None:
    monkeypatch.setenv(fast.CHOICE, compiled)
    monkeypatch.setattr(dense, "TASKS", 16)
    rng = np.random.default_rng(4)
    users, servers, resources = 20, 3, 2
    shape = (users, servers, resources) if by_server else (users, resources)
    demand, worth = rng.random(shape), rng.random(users * servers)
    price = rng.random((servers, resources)) * np.array([1, 2.0**-54])[:, None, None]
    columns = np.arange(users * servers)
    n, i = np.divmod(columns, servers)
    need = demand[n, i] if by_server else demand[n]
    more = np.stack([rng.random(users), 2.0**-54 * rng.random(users)])
    cost = (need * price[0, i]).sum(axis=1) + more[0, n]
    value = np.zeros((2, users))
    value[0] = (cost / worth).reshape(users, servers).min(axis=1)
    value[1] = 2.0**-54 * value[0]
    found, error = dense.profits(demand, price, worth, value, more, columns)
    for k in columns.tolist():
        truth = Fraction(worth[k]) * (Fraction(value[0, n[k]]) + Fraction(value[1, n[k]]))
        truth -= Fraction(more[0, n[k]]) + Fraction(more[1, n[k]])
        for r in range(resources):
            each = Fraction(price[0, i[k], r]) + Fraction(price[1, i[k], r])
            truth -= Fraction(need[k, r]) * each
        # the difference is a float, so it is rounded once more
        assert abs(Fraction(found[k]) - truth) <= Fraction(error[k]) + abs(truth) / 2**52


@pytest.mark.skipif(not fast.available(), reason="needs numba")
@pytest.mark.parametrize("besides", [False, True])
def test_compiled_profits_are_those_of_numpy_to_the_last_digit(monkeypatch, besides) -> None:
    """Nothing is fused or reordered: products and sums have the rounding errors of the text."""
    rng = np.random.default_rng(9)
    users, servers, resources = 500, 7, 3
    demand = 10 ** rng.uniform(-3, 3, (users, resources))
    price = 10 ** rng.uniform(-3, 3, (2, servers, resources))
    price[1] = price[0] * 2.0**-54 * rng.uniform(-1, 1, price[0].shape)
    columns = np.flatnonzero(rng.random(users * servers) < 0.6)
    worth = rng.uniform(0.5, 2, len(columns))
    value = rng.random((2, users)) * [[1.0], [2.0**-54]]
    more = rng.random((2, users)) * [[1.0], [2.0**-54]] if besides else None
    told = []
    for choice in "01":
        monkeypatch.setenv(fast.CHOICE, choice)
        told.append(dense.profits(demand, price, worth, value, more, columns))
    for text, loop in zip(*told, strict=True):
        np.testing.assert_array_equal(text, loop)


@pytest.mark.skipif(not fast.available(), reason="needs numba")
def test_compiled_sums_and_products_have_no_other_digit() -> None:
    """Of numbers over sixty decades, also those that cancel, as in `formulas.doubles`."""
    from numba import njit

    rng = np.random.default_rng(3)
    a = 10 ** rng.uniform(-30, 30, 4000) * rng.choice([-1, 1], 4000)
    b = np.where(rng.random(4000) < 0.5, -a * (1 + rng.normal(0, 1e-9, 4000)), rng.random(4000))
    pairs = (exact_sum, module_compiled.two_sum), (exact_product, module_compiled.two_product)
    for text, one in pairs:
        each = njit(lambda x, y, of=one: of(x, y))
        found = np.array([each(x, y) for x, y in zip(a, b, strict=True)]).T
        np.testing.assert_array_equal(found, text(a, b))


def test_a_question_answers_alike_in_pieces_and_entry_by_entry(monkeypatch) -> None:
    """Limits that are rows, scores by server, shut pairs: what is left, and profits."""
    rng = np.random.default_rng(5)
    users, servers = 60, 4
    score = rng.uniform(0.5, 2, (users, servers))
    inst = fo.Instance(
        rng.uniform(0.1, 1, (users, 2)),
        rng.uniform(5, 9, (servers, 2)),
        rng.random((users, servers)) < 0.8,
        limit=rng.uniform(0.2, 2, users),
    )
    notion = fo.AlphaFair(2.0, criterion=lambda _: score)
    alloc = fo.solve(inst, notion)
    question = asked(alloc)
    place = place_of(question, given(alloc, question))
    assert len(question.columns.limited)
    every = np.flatnonzero(np.isfinite(question.columns.cost(place.price[0])))
    amount = np.zeros((2, len(every)))
    amount[:, np.searchsorted(every, place.columns)] = place.amount
    seen = []
    for least in (0, 10**9):
        monkeypatch.setattr(module, "DENSE", least)
        left, _ = question.columns.left(question.rhs, every, amount)
        profit, _ = question.columns.profit(every, place.price, place.value)
        seen.append((left, profit))
    for a, b in zip(*seen, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13, atol=1e-25)


@pytest.mark.parametrize("compiled", [pytest.param("0", id="numpy"), COMPILED])
def test_what_nobody_uses_and_there_is_none_of_is_not_overrun(monkeypatch, compiled) -> None:
    """A resource that no task demands, and that one of the servers has none of."""
    monkeypatch.setenv(fast.CHOICE, compiled)
    monkeypatch.setattr(dense, "USERS", 7)
    demand, columns, amount = drawn(40, 3, 0.5, 1)
    demand[:, 1] = 0.0
    high, low, error = dense.used(demand, 3, columns, amount)
    assert not (high[:, 1].any() or low[:, 1].any() or error[:, 1].any())


@pytest.mark.parametrize("compiled", [pytest.param("0", id="numpy"), COMPILED])
def test_many_users_beside_a_resource_that_some_servers_lack(monkeypatch, compiled) -> None:
    monkeypatch.setenv(fast.CHOICE, compiled)
    users = 5_000
    demand = np.column_stack([np.random.default_rng(5).lognormal(0, 1, users), np.zeros(users)])
    capacity = np.array([[2.0, 1.0], [3.0, 0.0], [1.0, 0.0], [2.0, 1.0], [4.0, 0.0]]) * users
    answer = fo.solve(fo.Instance(demand, capacity), fo.AlphaFair(1))
    assert answer.certificate.certified
    np.testing.assert_allclose(answer.totals, 12 / demand[:, 0], rtol=1e-9)


@pytest.mark.parametrize("compiled", [pytest.param("0", id="numpy"), COMPILED])
def test_sums_of_very_few_and_very_small_tasks_are_told_with_their_error(
    monkeypatch, compiled
) -> None:
    """One user on each server, of less than a task, as two floats: what is lost is told."""
    monkeypatch.setenv(fast.CHOICE, compiled)
    rng = np.random.default_rng(8)
    demand = rng.uniform(0.1, 0.9, (4, 3))
    columns = np.arange(4) * 4 + np.arange(4)
    amount = np.array([rng.uniform(0.1, 0.9, 4), 2.0**-55 * rng.uniform(0.1, 0.9, 4)])
    high, low, error = dense.used(demand, 4, columns, amount)
    lost = 0
    for n in range(4):
        for r in range(3):
            tasks = Fraction(amount[0, n]) + Fraction(amount[1, n])
            true = tasks * Fraction(demand[n, r])
            off = abs(Fraction(high[n, r]) + Fraction(low[n, r]) - true)
            assert off <= Fraction(error[n, r])
            lost += off > 0
    assert lost > 6
