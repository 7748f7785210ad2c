"""Sums over tables in pieces, against exact fractions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates import columns as module
from fairopt.certificates import dense
from fairopt.certificates.asking import asked
from fairopt.certificates.given import given
from fairopt.certificates.search import place_of


def drawn(users: int, servers: int, spread: float, seed: int) -> tuple[np.ndarray, ...]:
    """Demands, columns and amounts of two floats each, over some decades."""
    rng = np.random.default_rng([users, servers, seed])
    demand = 10 ** rng.uniform(-spread, spread, (users, 2)) * (rng.random((users, 2)) < 0.9)
    columns = np.flatnonzero(rng.random(users * servers) < 0.7)
    high = 10 ** rng.uniform(-spread, spread, len(columns)) * (rng.random(len(columns)) < 0.9)
    low = high * 2.0**-54 * rng.uniform(-1, 1, len(columns))
    return demand, columns, np.stack([high, low])


@pytest.mark.parametrize("second", [True, False], ids=["two floats", "one"])
@pytest.mark.parametrize("spread", [0.5, 3.0, 30.0])
@pytest.mark.parametrize(("users", "piece"), [(40, 7), (600, 1 << 12)])
def test_use_is_exact_but_for_its_error(monkeypatch, users, piece, spread, second) -> None:
    monkeypatch.setattr(dense, "USERS", piece)
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


@pytest.mark.parametrize("by_server", [False, True])
def test_what_tasks_bring_is_exact_but_for_its_error(monkeypatch, by_server) -> None:
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
