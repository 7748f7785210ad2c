"""The trade-off beside rows: optima by hand, spoiled answers, and what is refused."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import fairopt as fo
from fairopt.errors import UsageError
from tests.oracles.penalised import levels

ON_BOTH = fo.Instance(
    [[1], [1]], [[6], [6]], users=["A", "B"], limit_on=np.array([[1.0, 1.0], [np.inf, np.inf]])
)
"""A may run one task on each of two servers of 6"""
IN_TEAM = fo.Instance(
    [[1], [1], [1]],
    [[12]],
    users=["A", "B", "C"],
    resources=["cpu"],
    quotas=fo.Quotas(
        groups=[fo.Group("team", weight=2)],
        group={"A": "team", "B": "team"},
        bounds=[fo.Bound("team", "cpu", 6)],
    ),
)
"""12 CPU, of which A and B together may use 6"""

# With F_A = 1/3 at A's limits, 1/F = t (F - 1/3) / 2 at B: F = 4/3 for t = 3/2. On each server
# B has b beside 1/6, and 1/b = t (b - 1/6): b = 2/3 for t = 3. In the team F = 1/4 each, and
# 1/F = 4 t (F - 1/4) / 9 at C: F = 5/12 for t = 162/5.
BY_HAND = {
    "levels": (ON_BOTH, fo.Tradeoff(t_pf=1.5), [2, 8]),
    "servers": (ON_BOTH, fo.Tradeoff(t_drf=3), [2, 8]),
    "ceiling": (IN_TEAM, fo.Tradeoff(t_pf=float(Fraction(162, 5))), [3, 3, 5]),
}


@pytest.mark.parametrize("name", BY_HAND)
def test_optima_by_hand(name: str) -> None:
    instance, notion, due = BY_HAND[name]
    answer = fo.solve(instance, notion)
    assert answer.totals == pytest.approx(due, rel=1e-9)
    assert answer.certificate.certified
    short = answer.with_(tasks=answer.tasks * np.array([[1]] * (len(due) - 1) + [[0.9999]]))
    assert fo.certify(short.with_(certificate=None)).verdict == "refuted"


def lending(capacity: np.ndarray, rng: np.random.Generator) -> fo.Quotas:
    """An equal part of r1 for each of three users, who lend and borrow some of it."""
    part = float(capacity[:, 0].sum()) / 3
    amounts = rng.uniform(0, 3, (3, 2)).tolist()
    users = [f"u{k + 1}" for k in range(3)]
    quotas = [
        fo.Quota(user, "r1", part, lend=lend, borrow=borrow)
        for user, (lend, borrow) in zip(users, amounts, strict=True)
    ]
    return fo.Quotas(quotas=quotas)


def drawn(seed: int) -> tuple[fo.Instance, fo.Tradeoff]:
    """A small cluster with limits on servers or rules of its own, and a trade-off."""
    rng = np.random.default_rng(seed)
    users, servers = int(rng.integers(3, 9)), int(rng.integers(2, 4))
    demand, capacity = rng.uniform(0.5, 3, (users, 2)), rng.uniform(10, 40, (servers, 2))
    counts = rng.uniform(-0.3, 1, (2, users, servers))
    more = [
        {"limit_on": np.where(rng.random((users, servers)) < 0.4, 1.0, np.inf)},
        {"rules": [fo.Rule.of("most", counts[0], most=3.0)]},
        {
            "rules": [
                fo.Rule.of("most", np.abs(counts[0]), most=6.0),
                fo.Rule.of("least", np.abs(counts[1]), least=0.5),
            ]
        },
        {"rules": [fo.Rule.of("equal", np.abs(counts[0]) + 0.1, equal=2.0)]},
        {"quotas": lending(capacity, rng)},
    ][seed % 5]
    if "quotas" in more:
        users, demand = 3, demand[:3]
    weight = rng.uniform(0.5, 2, users)
    notion = fo.Tradeoff(
        t_pf=float(rng.choice([0, 0.5, 5])),
        t_drf=float(rng.choice([0, 0.5, 5])),
        g=float(rng.choice([0.5, 1, 2, 5])),
    )
    return fo.Instance(demand, capacity, weight=weight, **more), notion


@pytest.mark.parametrize("seed", range(20))
def test_right_is_certified_and_spoiled_is_not(seed: int) -> None:
    instance, notion = drawn(seed)
    answer = fo.solve(instance, notion)
    assert answer.certificate.residual < 1e-7
    rng = np.random.default_rng(seed)
    for size in (1e-2, 1e-4, 3e-6):
        factor = 1 - size * rng.random(instance.shape[0])[:, None]
        spoiled = answer.with_(tasks=answer.tasks * factor, certificate=None)
        assert not fo.certify(spoiled).certified
        forged = spoiled.with_(prices=None if spoiled.prices is None else spoiled.prices * 0)
        assert not fo.certify(forged).certified


@pytest.mark.parametrize("seed", range(8))
def test_beside_a_path_of_decimals(seed: int) -> None:
    """Levels are those of a path of ninety digits that shares nothing with the package."""
    rng = np.random.default_rng(100 + seed)
    users, servers = 3, int(rng.integers(1, 3))
    demand, capacity = rng.uniform(0.5, 3, (users, 2)), rng.uniform(10, 40, (servers, 2))
    counts = rng.uniform(-0.3, 1, (2, users, servers))
    most = rng.uniform(1, 6, 2)
    weight = rng.uniform(0.5, 2, users)
    t_pf, t_drf = rng.choice([0.5, 5.0, 50.0], 2).tolist()
    alpha = float(rng.choice([0.5, 1, 2, 5]))
    rules = [fo.Rule.of(f"rule {k}", counts[k], most=float(most[k])) for k in range(2)]
    instance = fo.Instance(demand, capacity, weight=weight, rules=rules)
    answer = fo.solve(instance, fo.Tradeoff(t_pf, t_drf, g=alpha))
    everywhere = np.ones((users, servers), dtype=bool)
    rows = list(zip(counts, most.tolist(), strict=True))
    due = levels(demand, capacity, weight, everywhere, alpha, t_pf, t_drf, more=rows)
    assert answer.levels == pytest.approx(due, rel=1e-9)


def test_no_answer_is_better() -> None:
    """Welfare at points between the answer and others that fit is never more."""
    from fairopt.formulas import penalties

    instance, notion = drawn(1)
    terms = penalties.Terms.of(notion.plain())
    best = fo.solve(instance, notion)
    other = fo.solve(instance, fo.AlphaFair(3, "dominant-share"))

    def worth(tasks: np.ndarray) -> float:
        return penalties.objective(instance, best.score * tasks, terms)

    for part in (0.01, 0.1, 0.5, 1.0):
        assert worth((1 - part) * best.tasks + part * other.tasks) < worth(best.tasks)


def test_a_saved_answer_is_judged_again(tmp_path) -> None:
    instance, notion, _ = BY_HAND["ceiling"]
    answer = fo.solve(instance, notion)
    file = tmp_path / "answer.json"
    answer.save(file)
    assert fo.certify(fo.load(file)).certified


PROMISES = fo.Quotas(guarantees=[fo.Guarantee("B", "cpu", 3)])
OTHER = fo.Quotas(
    groups=[fo.Group("team", weight=3)],
    group={"A": "team", "B": "team"},
    bounds=[fo.Bound("team", "cpu", 6)],
)
REFUSED = {
    "found guarantees": ({"quotas": PROMISES}, fo.Tradeoff(t_pf=1)),
    "found priorities": ({"quotas": fo.Quotas(priority={"A": 1})}, fo.Tradeoff(t_pf=1)),
    "groups whose weights": ({"quotas": OTHER}, fo.Tradeoff(t_pf=1)),
    "equal_across or equal_within": ({}, fo.Tradeoff(equal_across=True)),
    "shares already had": ({"start": [1, 0, 0]}, fo.Tradeoff(t_pf=1)),
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_means_nothing_is_refused(words: str) -> None:
    fields, notion = REFUSED[words]
    with pytest.raises(UsageError, match=words):
        fo.solve(IN_TEAM.replace(**fields), notion)


@pytest.mark.parametrize("solver", ["interior", "highs"])
def test_solvers_that_cannot(solver: str) -> None:
    with pytest.raises(UsageError, match=f"found '{solver}'"):
        fo.solve(IN_TEAM, fo.Tradeoff(t_pf=1), solver=solver)


def test_constraints_in_cvxpy() -> None:
    import cvxpy as cp

    pool = fo.Instance([[1], [1]], [[12]])
    answer = fo.solve(
        pool, fo.Tradeoff(t_pf=1), constraints=lambda space: {"few": cp.sum(space.tasks[0]) <= 2}
    )
    # F_A = 1/6, and 1/F = (F - 1/6) / 2 at B: F^2 - F/6 = 2
    due = 12 * (1 / 6 + np.sqrt(1 / 36 + 8)) / 2
    assert answer.totals == pytest.approx([2, min(due, 10)], rel=1e-9)
    assert answer.certificate.certified
