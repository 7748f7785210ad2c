"""Certified is a theorem: five kinds of answers that a judge once certified, and that are wrong.

Each was certified by residuals of 1e-6 to 1e-12 and is 2e-6 to 43 % off. Truths are closed forms,
or proved to 15 digits by a path of decimals (`oracles.optimum`).
"""

from __future__ import annotations

import numpy as np
import pytest

import fairopt as fo
from tests.oracles import parted
from tests.oracles.optimum import optimum
from tests.oracles.rows import of_instance

NAMES = {"users": ["a", "b"], "resources": ["r0", "r1"]}
NOBODY = fo.Quotas(bounds=[fo.Bound("a", "r0", 99)])
"""a ceiling that binds nobody"""


def alone(demand: np.ndarray, alpha: float) -> np.ndarray:
    """The optimum where r0, of which there is 1, is the only resource that counts."""
    tasks = demand[:, 0] ** (-1 / alpha)
    return tasks / (tasks @ demand[:, 0])


def off(tasks: np.ndarray, truth: np.ndarray) -> float:
    return float(np.abs(np.log(tasks / truth)).max())


# -- 1: what solve itself certifies ---------------------------------------------------------------

NEARLY = np.array([[0.9050931984, 0.8862709003], [0.4483048278, 0.4436168867]])


@pytest.mark.parametrize("quotas", [None, NOBODY], ids=["plain", "ceiling"])
@pytest.mark.parametrize("spare", [9e-10, 0.0])
def test_two_answers_of_one_strictly_concave_problem_are_not_both_certified(quotas, spare) -> None:
    truth = alone(NEARLY, 0.5)
    inst = fo.Instance(NEARLY, [[1, truth @ NEARLY[:, 1] + spare]], quotas=quotas, **NAMES)
    found = fo.solve(inst, fo.AlphaFair(0.5), uncertified="return")
    assert not found.certificate.certified or off(found.totals, truth) <= 1e-6


def drawn(seed: int) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
    """Nearly parallel demands, r1 just full with price 0: demand, capacity, alpha, the truth."""
    rng = np.random.default_rng([11, seed])
    users, alpha = int(rng.integers(2, 5)), float(rng.choice([0.5, 1, 2]))
    demand = np.repeat(rng.uniform(0.3, 1, (users, 1)), 2, axis=1)
    demand[:, 1] *= 1 + 10 ** rng.uniform(-5, -1.5) * rng.normal(size=users)
    truth = alone(demand, alpha)
    spare = float(rng.choice([0, 1e-10, 1e-9, 1e-8]))
    return demand, np.array([1, (truth @ demand[:, 1]) * (1 + spare)]), alpha, truth


@pytest.mark.parametrize("how", ["plain", "ceiling", "partitions"])
def test_own_answers_that_are_certified_are_right(how: str) -> None:
    wrong, certified = [], 0
    for seed in range(10 if how == "partitions" else 30):
        demand, capacity, alpha, truth = drawn(seed)
        users = [f"u{n}" for n in range(len(demand))]
        ceiling = fo.Quotas(bounds=[fo.Bound(users[0], "r0", 99)]) if how == "ceiling" else None
        inst = fo.Instance(demand, [capacity], users=users, resources=["r0", "r1"], quotas=ceiling)
        if how == "partitions":
            tasks, verdict = parted.solved(inst, fo.AlphaFair(alpha))
        else:
            found = fo.solve(inst, fo.AlphaFair(alpha), uncertified="return")
            tasks, verdict = found.tasks, found.certificate
        certified += verdict.certified
        if verdict.certified and off(tasks.sum(axis=1), truth) > 1.01e-6:
            wrong.append((seed, off(tasks.sum(axis=1), truth)))
    assert not wrong
    assert certified  # a judge that certifies nothing would pass


# -- 2: prices tilted along nearly parallel rows --------------------------------------------------

TILT = 1e-3
TILTED = np.array([[1, 1], [1, 1 - TILT]])
ROOM = np.array([1, 1 - TILT / 2])
PRICES = np.array([[0.4, 0.6]])
RULES = {
    "plain": None,
    "ceiling": NOBODY,
    "group": fo.Quotas([fo.Group("g")], {"a": "g", "b": "g"}),
    "quota": fo.Quotas(quotas=[fo.Quota("a", "r0", 1.0)]),
}


def tilted(alpha: float) -> np.ndarray:
    """(2, 1) tasks that prices of both rows ask for; at the optimum r1 costs nothing."""
    tasks = (TILTED @ PRICES[0]) ** (-1 / alpha)
    return (tasks / (tasks @ TILTED / ROOM).max())[:, None]


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("alpha", [0.3, 0.5, 1.0, 2.0])
def test_prices_tilted_along_parallel_rows_certify_nothing(rules: str, alpha: float) -> None:
    inst = fo.Instance(TILTED, [ROOM], quotas=RULES[rules], **NAMES)
    given = fo.Allocation(inst, fo.AlphaFair(alpha), tilted(alpha), PRICES)
    assert off(given.totals, np.array([0.5, 0.5])) > 1e-4
    assert not fo.certify(given).certified
    # the truth is certified, at prices of r0 alone
    right = np.array([[0.5], [0.5]])
    assert fo.certify(fo.Allocation(inst, fo.AlphaFair(alpha), right, [[1, 0]])).certified


def test_nor_in_partitions_nor_as_a_trade_off() -> None:
    inst = fo.Instance(TILTED, [ROOM], **NAMES)
    for alpha in (0.5, 1.0):
        given = parted.certified(inst, fo.AlphaFair(alpha), tilted(alpha), PRICES)
        assert not given.certified
    given = fo.certify(fo.Allocation(inst, fo.Tradeoff(), tilted(1.0), PRICES))
    assert not given.certified


# -- 3: many users, a row just full with a price a little above 0 ---------------------------------


@pytest.mark.parametrize("users", [600, 2_000, 10_000])
@pytest.mark.parametrize(("alpha", "price"), [(0.5, 1e-5), (1.0, 1e-5), (2.0, 3e-5)])
def test_a_little_money_on_a_free_row_of_many_users(users, alpha, price) -> None:
    demand = np.tile([[1.0, 2.0], [2.0, 1.0]], (users // 2, 1))
    truth = alone(demand, alpha)
    capacity = np.array([1, truth @ demand[:, 1]])
    inst = fo.Instance(demand, [capacity])
    tasks = (demand @ [1, price]) ** (-1 / alpha)
    tasks /= (tasks @ demand / capacity).max()
    assert off(tasks, truth) > 2e-6
    given = fo.Allocation(inst, fo.AlphaFair(alpha), tasks[:, None], [[1, price]])
    assert not fo.certify(given).certified


# -- 4: a user with 43 % less than it could have, at alpha 50 -------------------------------------


def test_a_user_without_money_is_not_forgotten() -> None:
    inst = fo.Instance(
        [
            [0.170183402986695, 0, 0.7602620105966321],
            [0.12982790748668885, 0.11260772606553915, 0],
            [0.7603046608808501, 0, 0.8981500530704197],
            [0.16202974111093643, 0.6627044746622011, 0.3456218407092652],
        ],
        [
            [3.7503020905718127, 5.5818799938406505, 4.87937084974182],
            [3.225207374930627, 0, 4.593826342307835],
        ],
        weight=[1.4167492156713204, 1.5554033493598998, 1.0449782189293466, 0.6451581626078243],
    )
    tasks = [
        [1.680011337476756, 3.066973673317403],
        [7.9708517909212695, 0],
        [2.183827512790322, 2.518646815446308],
        [4.747145760820054, 0],
    ]
    prices = [
        [1.7615874557388624e-11, 5.798321825837839e-22, 0.49215580040601237],
        [2.5438283348176998e-11, 0, 0.49215580039797907],
    ]
    given = fo.Allocation(inst, fo.AlphaFair(50), tasks, prices)
    truth = optimum(of_instance(inst, given.score), 50)
    assert truth is not None
    assert truth.share[1] == pytest.approx(14.0428933)
    assert off(given.totals, truth.share) > 0.5
    assert not fo.certify(given).certified


# -- 5: limits, ceilings and quotas of users that could have more ---------------------------------


@pytest.mark.parametrize("alpha", [5.0, 20.0, 50.0])
def test_a_ceiling_works_as_the_same_limit(alpha: float) -> None:
    """Three users on 4 of one resource, the first held at 1: the others have 1.5 each."""
    truth = np.array([1, 1.5, 1.5])
    names = {"users": ["a", "b", "c"], "resources": ["r"]}
    limited = fo.Instance([[1], [1], [1]], [[4]], limit=[1, np.inf, np.inf], **names)
    held = fo.Instance(
        [[1], [1], [1]], [[4]], quotas=fo.Quotas(bounds=[fo.Bound("a", "r", 1)]), **names
    )
    for inst in (limited, held):
        found = fo.solve(inst, fo.AlphaFair(alpha), uncertified="return")
        assert found.certificate.certified
        assert off(found.totals, truth) <= 1e-6
        less = found.with_(tasks=found.tasks * [[1], [1 - 1e-5], [1]], certificate=None)
        assert not fo.certify(less).certified


# -- 6: what an attack on the new judge found -----------------------------------------------------

ONE = [[1], [1]]


@pytest.mark.parametrize("room", [1e-7, 5e-7, 1e-6])
def test_who_holds_its_floor_may_still_be_due_half_of_what_is_left(room: float) -> None:
    """What is above the floors is divided alike: a light user that takes all of it has twice its
    share, however little that is beside the floor."""
    floor = fo.Quotas(guarantee_tasks={"a": 1 - room})
    inst = fo.Instance(ONE, [[1]], users=["a", "b"], resources=["r"], quotas=floor)
    notion = fo.AlphaFair(1, over="above")
    assert not fo.certify(fo.Allocation(inst, notion, [[1 - room], [room]], [[1]])).certified


@pytest.mark.parametrize(("r", "s"), [(2e-7, 1e-7), (1e-9, 1e-8), (8e-9, 1e-8)])
def test_nor_is_it_stuck_for_a_user_of_another_row(r: float, s: float) -> None:
    floor = fo.Quotas(guarantee_tasks={"a": 1.0})
    inst = fo.Instance(
        [[1, 1], [0, 1]], [[1 + r, 1 + s]], users=["a", "c"], resources=["r", "s"], quotas=floor
    )
    notion = fo.AlphaFair(1, over="above")
    tasks = [[1.0], [np.nextafter(s, 0)]]
    for prices in ([[1, 0]], [[0, 1]], None):
        assert not fo.certify(fo.Allocation(inst, notion, tasks, prices)).certified


@pytest.mark.parametrize("least", [1e-11, 1e-13, 1e-15])
def test_half_of_a_small_ceiling_is_not_nothing(least: float) -> None:
    rules = {
        "ceiling": fo.Quotas(bounds=[fo.Bound("a", "r", least)]),
        "quota": fo.Quotas(quotas=[fo.Quota("a", "r", least, borrow=0), fo.Quota("b", "r", 1)]),
    }
    for quotas in rules.values():
        inst = fo.Instance(ONE, [[1]], users=["a", "b"], resources=["r"], quotas=quotas)
        for alpha in (0.3, 0.5):
            tasks = [[least / 2], [1 - least]]
            given = fo.Allocation(inst, fo.AlphaFair(alpha), tasks, [[1]])
            assert not fo.certify(given).certified


def test_what_floors_leave_is_not_nothing() -> None:
    """Guarantees take all but 1e-10: the last user's share is that, and 4e-5 of all money."""
    demand = np.array(
        [
            [0.49184353267964365, 0.109111955275929],
            [0.42049651474526983, 0.13772456544501516],
            [0.3310924303619691, 0.6318466772411307],
            [0.1885870045997493, 0.8762584459304045],
        ]
    )
    held = {"u0": 0.7345211331928847, "u1": 0.7684684825509088, "u2": 0.4077996882337538}
    inst = fo.Instance(
        demand,
        [[0.8194273746563591, 0.4436489030871656]],
        users=["u0", "u1", "u2", "u3"],
        weight=[34.84129501982655, 3.639541278514341, 0.3149778466735515, 76.80748031065298],
        quotas=fo.Quotas(guarantee_tasks=held),
    )
    tasks = np.array([*held.values(), 2.7957478756180975e-10])
    truth = optimum(of_instance(inst, np.ones((4, 1))), 0.5)
    assert truth is not None and abs(tasks[3] / truth.share[3] - 1) > 1e-4
    given = fo.Allocation(inst, fo.AlphaFair(0.5), tasks[:, None], [[1.7e-7, 1.7e-7]])
    assert not fo.certify(given).certified
