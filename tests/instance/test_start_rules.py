"""Shares already had beside guarantees, ceilings, lending, modes and rules.

Against programs written out here, spoiled answers and forged prices.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

import fairopt as fo
from fairopt.cli import run
from fairopt.errors import Infeasible, UsageError
from fairopt.formulas import families
from fairopt.formulas.entitled import entitled
from fairopt.formulas.started import before

cp = pytest.importorskip("cvxpy")
TASKS = fo.MaxMin("tasks")
LOG = fo.ProportionalFair()
WAYS = [fo.Mode("slow"), fo.Mode("fast", demand=[0.5, 2.0], speed=1.5, servers=["x"])]
LEAST_RULE = fo.Rule("least", least=0.3, terms=[fo.Term(["a"], ["y"])])
LINK = fo.Rule("link", most=2.0, terms=[fo.Term(["a"]), fo.Term(["b"], times=2.0)])


def cluster(seed, **more):
    """Three users on two servers; a and c had something."""
    rng = np.random.default_rng(seed)
    given = {
        "demand": rng.uniform(0.2, 1, (3, 2)),
        "capacity": rng.uniform(1, 3, (2, 2)),
        "weight": rng.uniform(0.5, 2, 3),
        "limit": np.where(rng.random(3) < 0.4, rng.uniform(0.6, 3, 3), np.inf),
        "users": ["a", "b", "c"],
        "servers": ["x", "y"],
        "resources": ["cpu", "gpu"],
        "start": [float(rng.uniform(0.1, 4)), 0.0, float(rng.uniform(0, 2))],
    }
    return fo.Instance(**{**given, **more})


def promised(seed, group=False):
    """Guarantees and ceilings that fit: parts of what there is."""
    rng = np.random.default_rng(seed + 1000)
    who = "team" if group else "b"
    return fo.Quotas(
        groups=[fo.Group("team")] if group else (),
        group={"a": "team", "b": "team"} if group else {},
        guarantees=[fo.Guarantee("a", "cpu", float(rng.uniform(0.05, 0.5)))],
        bounds=[
            fo.Bound(who, "cpu", float(rng.uniform(0.8, 2))),
            fo.Bound("c", "gpu", float(rng.uniform(0.1, 1)), "left"),
        ],
        flavors={"left": ["x"]},
    )


KINDS = {
    "promised": lambda seed: {"quotas": promised(seed)},
    "modes": lambda seed: {"modes": {"a": WAYS}},
    # a limit counts tasks, of which the fast ones may not take the place of what was had
    "limited modes": lambda seed: {
        "modes": {"a": [WAYS[0], fo.Mode("fast", demand=[0.3, 0.4], speed=3.0)]},
        "limit": [0.5 + 0.1 * (seed % 5), np.inf, np.inf],
        "start": [1.0, 0.0, 1.5],
    },
    "rules": lambda seed: {"rules": [LEAST_RULE, LINK], "limit": [5.0, np.inf, 1.0]},
    "all": lambda seed: {
        "quotas": promised(seed),
        "modes": {"a": WAYS},
        "rules": [LINK],
        "limit_on": [[np.inf, 1.0], [0.7, np.inf], [9, 9]],
    },
}


def program(inst):
    """Rows of an instance over x (K ways, I servers): (left, right), shares (N, K I), floor (N,).

    Written from the records alone; a guarantee is of one resource of one user without modes there.
    """
    rows, right = [], []
    ways = [
        (n, mode) for n, u in enumerate(inst.users) for mode in (inst.modes or {}).get(u, [None])
    ]
    size = len(ways), len(inst.servers)
    need = [
        inst.demand[n] if m is None or m.demand is None else np.array(m.demand) for n, m in ways
    ]

    def add(value, most):
        rows.append(np.asarray(value, float).ravel())
        right.append(most)

    for i in range(size[1]):
        for r in range(len(inst.resources)):
            add(
                [[need[k][r] * (j == i) for j in range(size[1])] for k in range(size[0])],
                inst.capacity[i, r],
            )
    for n in range(len(inst.users)):
        mine = np.array([[float(way[0] == n)] * size[1] for way in ways])
        if np.isfinite(inst.limit[n]):
            add(mine, inst.limit[n])
        for i in range(size[1]):
            if inst.limit_on is not None and np.isfinite(inst.limit_on[n, i]):
                add(mine * (np.arange(size[1]) == i), inst.limit_on[n, i])
    quotas = inst.quotas or fo.Quotas()

    def inside(member):
        return [u for u in inst.users if member in (u, quotas.group.get(u))]

    for row in quotas.bounds:
        r = inst.resources.index(row.resource)
        on = [row.flavor is None or s in quotas.flavors[row.flavor] for s in inst.servers]
        add(
            [
                [need[k][r] * on[i] * (inst.users[n] in inside(row.member)) for i in range(size[1])]
                for k, (n, _) in enumerate(ways)
            ],
            row.most,
        )
    for rule in inst.rules or ():
        value = np.zeros(size)
        for term in rule.terms:
            for k, (n, _) in enumerate(ways):
                for i, s in enumerate(inst.servers):
                    if (term.users is None or inst.users[n] in term.users) and (
                        term.servers is None or s in term.servers
                    ):
                        value[k, i] += term.times
        sign = 1.0 if rule.most is not None else -1.0
        add(sign * value, sign * rule.amount)
    shares = np.zeros((len(inst.users), *size))
    closed = np.zeros(size, bool)
    for k, (n, mode) in enumerate(ways):
        shares[n, k] = 1.0 if mode is None else mode.speed
        if mode is not None and mode.servers is not None:
            closed[k] = [s not in mode.servers for s in inst.servers]
    floor = np.zeros(len(inst.users))
    for row in quotas.guarantees:
        n, r = inst.users.index(row.member), inst.resources.index(row.resource)
        own = [
            row.amount / need[k][r] * (1.0 if m is None else m.speed)
            for k, (owner, m) in enumerate(ways)
            if owner == n
        ]
        floor[n] = max(own)
    upper = np.where(closed, 0.0, np.inf).ravel()
    return np.array(rows), np.array(right), shares.reshape(len(inst.users), -1), floor, upper


def levels(inst):
    """(N,) start + share over weight: raise all, fix who is stopped, repeat."""
    left, right, shares, floor, upper = program(inst)
    users, columns = shares.shape
    had = np.zeros(users) if inst.start is None else inst.start
    fixed = np.full(users, np.nan)

    def best(cost, due, slope):
        rows = np.vstack(
            [np.column_stack([left, np.zeros(len(left))]), np.column_stack([-shares, slope])]
        )
        most = np.append(right, had - due)
        rows = np.vstack([rows, np.column_stack([-shares, np.zeros(users)])])
        most = np.append(most, -floor)
        bounds = [(0, u) for u in upper] + [(0, None)]
        found = linprog(cost, rows, most, bounds=bounds)
        assert found.status == 0, found.message
        return found

    while np.isnan(fixed).any():
        free = np.isnan(fixed)
        due = np.where(free, 0.0, fixed * inst.weight) * (1 - 1e-11)
        top = best(np.append(np.zeros(columns), -1.0), due, inst.weight * free).x[-1]
        due = np.where(free, top * inst.weight, due) * (1 - 1e-11)
        stopped = np.zeros(users, bool)
        for n in np.flatnonzero(free):
            found = best(np.append(-shares[n], 0.0), due, np.zeros(users))
            most = (had[n] - found.fun) / inst.weight[n]
            # who holds more than the level already, because it had so or is promised, is looked at
            # again when the level is there
            least = max(had[n] + floor[n], 0.0) / inst.weight[n]
            stopped[n] = most <= max(top, least if least >= top else top) * (1 + 1e-7)
            if stopped[n]:
                fixed[n] = most
        if not stopped.any():
            raise AssertionError("nobody stopped")
    return fixed


def fair(inst, alpha):
    """(N,) shares of alpha-fairness, by a general solver."""
    left, right, shares, floor, upper = program(inst)
    x = cp.Variable(shares.shape[1], nonneg=True)
    s = shares @ x
    level = s + (0.0 if inst.start is None else inst.start)
    value = cp.log(level) if alpha == 1 else -cp.power(level, 1 - alpha)
    rows = [left @ x <= right, s >= floor, x[np.isfinite(upper)] == 0]
    found = cp.Problem(cp.Maximize(inst.weight @ value), rows)
    found.solve(solver="CLARABEL", tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    return s.value


@pytest.mark.parametrize("kind", KINDS)
def test_levels_are_those_of_programs(kind):
    for seed in range(12):
        inst = cluster(seed, **KINDS[kind](seed))
        found = fo.solve(inst, TASKS)
        assert found.certificate.certified
        assert found.levels == pytest.approx(levels(inst), rel=2e-6, abs=1e-7), (kind, seed)


@pytest.mark.parametrize("alpha", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_shares_are_those_of_a_general_solver(kind, alpha):
    for seed in range(6):
        inst = cluster(seed, **KINDS[kind](seed))
        found = fo.solve(inst, LOG if alpha == 1 else fo.AlphaFair(2))
        assert found.certificate.certified
        due, had = fair(inst, alpha), inst.start
        assert found.shares + had == pytest.approx(due + had, rel=2e-5), (kind, seed)


@pytest.mark.parametrize("speed", [0.5, 3.0])
def test_what_is_asked_before_is_what_is_asked_and_was_had(speed):
    """Floors are raised by just what was had, and groups are compared as they were."""
    ways = {"a": [fo.Mode("one", speed=speed), fo.Mode("two", [1.0, 1.0], speed / 2)]}
    for modes in (None, ways):
        quotas = promised(0, group=True)
        inst = cluster(0, quotas=quotas, modes=modes, capacity=[[1.0, 3.0], [2.0, 40.0]])
        notion = fo.MaxMin("tasks", measure="sum") if modes else fo.MaxMin("drf")
        kind = families.member(notion.plain())
        score = fo.solve(inst, notion).score
        whole, scores = before(inst, score, kind)
        own, after = (entitled(i, s, kind) for i, s in ((inst, score), (whole, scores)))
        assert own.floor.any()
        raised = own.floor + inst.start  # a group has what its members had
        assert after.floor == pytest.approx(raised, rel=1e-14)
        part = after.tree.use / own.tree.use
        assert part == pytest.approx(np.full(part.shape, part[0, 0]), rel=1e-14)
        assert (after.rank == own.rank).all() and (after.tree.weight == own.tree.weight).all()


def test_groups_with_what_was_had():
    """Two groups of equal weight on 12 cards; a had 6, so its group is due what the other is: 9 in
    all; within it a and b are equal as soon as b has what a had."""
    quotas = fo.Quotas(
        [fo.Group("team"), fo.Group("rest")], {"a": "team", "b": "team", "c": "rest"}
    )
    inst = fo.Instance(
        [[1]] * 3, [[12]], users=["a", "b", "c"], resources=["gpu"], quotas=quotas, start=[6, 0, 0]
    )
    for notion in (fo.MaxMin(), TASKS):
        score = fo.solve(inst.replace(start=None), notion).score
        inst2 = inst.replace(start=np.array([6.0, 0, 0]) * score[:, 0])
        found = fo.solve(inst2, notion)
        assert found.certificate.certified
        assert found.totals == pytest.approx([0, 3, 9], rel=1e-8)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("notion", [TASKS, LOG], ids=lambda n: n.name)
def test_spoiled_answers_and_forged_prices_are_not_certified(kind, notion):
    inst = cluster(3, **KINDS[kind](3))
    found = fo.solve(inst, notion)
    by_way = found.tasks if found.way_tasks is None else found.way_tasks
    rng = np.random.default_rng(0)
    for _ in range(6):
        part = np.where(rng.random(by_way.shape) < 0.5, 1 - 10.0 ** -rng.integers(1, 5), 1.0)
        spoiled = by_way * part
        if np.array_equal(spoiled, by_way):
            continue
        own = {"tasks": spoiled, "way_tasks": None}
        if inst.modes is not None:
            own = {"tasks": None, "way_tasks": spoiled}
        short = (1 - found.with_(**own).counted / found.counted).max()
        verdict = fo.certify(found.with_(**own, certificate=None))
        assert not verdict.certified or short < 1e-6
    # prices of another problem prove nothing of who is due less
    without = fo.solve(inst.replace(start=None), notion)
    wrong = without.with_(instance=inst, certificate=None)
    far = np.abs(wrong.counted / found.counted - 1).max()
    assert far > 1e-3 and not fo.certify(wrong).certified
    for times in (0.0, 3.0):
        forged = found.prices if found.prices is not None else np.ones(inst.capacity.shape)
        forged = forged * np.where(rng.random(forged.shape) < 0.5, times, 1.0)
        assert not fo.certify(wrong.with_(prices=forged)).certified


def test_a_small_guarantee_beside_much_that_was_had_is_kept_to_the_last_part():
    inst = fo.Instance(
        [[1], [1]],
        [[1]],
        users=["a", "b"],
        resources=["gpu"],
        start=[1e7, 0],
        quotas=fo.Quotas(guarantees=[fo.Guarantee("a", "gpu", 1e-3)]),
    )
    found = fo.solve(inst, TASKS)
    assert found.certificate.certified
    assert found.totals == pytest.approx([1e-3, 0.999], abs=1e-9)
    without = fo.Allocation(inst, TASKS, [[0.0], [1.0]])
    assert fo.certify(without).verdict == "refuted"


def test_what_does_not_fit_is_told_as_it_was_given():
    inst = cluster(0, quotas=fo.Quotas(guarantees=[fo.Guarantee("b", "cpu", 90)]))
    with pytest.raises(Infeasible, match="b needs") as error:
        fo.solve(inst, TASKS)
    with pytest.raises(Infeasible) as plain:
        fo.solve(inst.replace(start=None), TASKS)
    assert str(error.value) == str(plain.value)


def test_what_is_above_guarantees_is_not_divided_beside_a_start():
    inst = cluster(0, quotas=promised(0))
    for over in ("above", "proportion"):
        with pytest.raises(UsageError, match=f"over '{over}'"):
            fo.solve(inst, fo.MaxMin("tasks", over=over))


@pytest.mark.parametrize("kind", KINDS)
def test_files_keep_answers(kind, tmp_path):
    for notion in (TASKS, LOG):
        found = fo.solve(cluster(1, **KINDS[kind](1)), notion)
        found.save(tmp_path / "a.json")
        assert fo.certify(fo.load(tmp_path / "a.json")).certified
        assert run(["verify", str(tmp_path / "a.json")]) == 0
        # promises and what was had take from others: some properties need not hold
        assert run(["check", str(tmp_path / "a.json")]) in (0, 4)


def test_many_users_are_proved_by_the_rounds_of_the_answer():
    """More than the judge would work out by itself."""
    rng = np.random.default_rng(0)
    users, servers = 40, 20
    inst = fo.Instance(
        rng.uniform(0.1, 1, (users, 2)),
        rng.uniform(2, 9, (servers, 2)),
        start=rng.uniform(0, 4, users) * (rng.random(users) < 0.5),
        limit=rng.uniform(1, 9, users),
    )
    found = fo.solve(inst, TASKS)
    assert found.certificate.certified and found.rounds
