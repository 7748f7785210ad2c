"""Merged and unmerged answers agree: totals where they are unique, certificates elsewhere."""

from __future__ import annotations

import os
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import fairopt as fo
from fairopt import criteria
from fairopt.allocation import writing as results
from fairopt.certificates.levels import rooms
from fairopt.certificates.proof import measure
from fairopt.notions import NOTIONS, Notion
from fairopt.solving.reduce import reduce

EXAMPLES = int(os.environ.get("FAIROPT_EXAMPLES", "60"))
UNIQUE: list[Notion] = [
    fo.ProportionalFair(),
    fo.ProportionalFair("dominant-share"),
    fo.AlphaFair(0.5),
    fo.AlphaFair(2.0),
    fo.AlphaFair(5.0, "drf"),
    fo.AlphaFair(0.5, weight_inside=True),
    fo.AlphaFair(3.0, weight_inside=True),
    fo.MaxMin(),
    fo.MaxMin("tasks"),
    fo.MaxMin("tsf"),
    fo.MaxMin("cdrf"),
    fo.MaxMin("ps-dsf-sum"),
    fo.PerServerDominantShare("tdm"),
    fo.PerServerDRF(),
]
"""notions whose totals (shares, levels) are unique"""
OTHER: list[Notion] = [
    fo.Throughput(),
    fo.AlphaFair(0.0, "drf"),
    fo.AlphaFair(0.0, weight_inside=True),
    fo.PerServerDominantShare(),
]
GPU_MODELS = ["real/ec2-gpu", "edge/kinds-of-gpu", "edge/gpu-of-either-kind"]


def label(notion: Notion) -> str:
    return f"{notion.name}-{'-'.join(str(v) for v in notion.plain()['parameters'].values())}"


def score_of(inst: fo.Instance, notion: Any) -> Any:
    criterion = getattr(notion, "criterion", None)
    return None if criterion is None else criteria.score(inst, criterion)


@st.composite
def crowds(draw: st.DrawFn, servers: int = 5) -> fo.Instance:
    """A few kinds of users and of servers, each several times; weights and limits of any kind.

    Servers lack resources, users lack demand: kinds of GPU.
    """
    kinds, shapes, r = (draw(st.integers(1, most)) for most in (3, 3, 4))
    amount = st.sampled_from([0.0, 0.5, 1.0, 3.0])
    by_server = draw(st.booleans())
    size = kinds * r * (shapes if by_server else 1)
    demand = np.array(draw(st.lists(amount, min_size=size, max_size=size)))
    demand = demand.reshape((kinds, shapes, r) if by_server else (kinds, r))
    demand[..., 0] = np.where((demand > 0).any(axis=-1), demand[..., 0], 1.0)
    capacity = np.array(
        draw(
            st.lists(
                st.sampled_from([0.0, 2.0, 5.0, 9.0]), min_size=shapes * r, max_size=shapes * r
            )
        )
    ).reshape(shapes, r)
    allowed = np.array(
        draw(st.lists(st.booleans(), min_size=kinds * shapes, max_size=kinds * shapes))
    ).reshape(kinds, shapes)
    allowed[:, 0] = True
    who = np.array(draw(st.lists(st.integers(0, kinds - 1), min_size=2, max_size=7)))
    where = np.array(draw(st.lists(st.integers(0, shapes - 1), min_size=1, max_size=servers)))
    where[0] = 0
    there = ((capacity > 0) | (demand.reshape(kinds, -1, r) == 0)).all(axis=2) & allowed
    who = who[there[:, where].any(axis=1)[who]]  # whoever is eligible somewhere
    assume(len(who))
    users, servers = len(who), len(where)
    weight = draw(st.lists(st.sampled_from([1.0, 2.0, 0.3]), min_size=users, max_size=users))
    scale = np.array(
        draw(st.lists(st.sampled_from([1.0, 2.0, 3.0]), min_size=servers, max_size=servers))
    )
    limit = draw(st.sampled_from(["none", "by weight", "equal", "some"]))
    most = {
        "none": np.full(users, np.inf),
        "by weight": np.array(weight) * 1.5,
        "equal": np.full(users, 1.25),
        "some": np.where(np.arange(users) % 2, 0.75, np.inf),
    }[limit]
    count = draw(st.lists(st.integers(1, 3), min_size=servers, max_size=servers))
    own = demand[who][:, where] if by_server else demand[who]
    return fo.Instance(
        own, capacity[where] * scale[:, None], allowed[np.ix_(who, where)], weight, most, count
    )


def money(alloc: fo.Allocation) -> Any:
    """(N,) what each pays for its share, as a part of all money."""
    assert alloc.prices is not None and alloc.limit_prices is not None
    paid = np.einsum("ni,nir,ir->n", alloc.tasks, alloc.instance.demand_by_server, alloc.prices)
    paid += alloc.limit_prices * alloc.totals
    return paid / paid.sum()


def free_and_full(alloc: fo.Allocation) -> bool:
    """Whether something full has a price of about 0: there prices and what is left both vanish, and
    an answer is only as near as the root of its residual (5e-7 beside 5e-13)."""
    inst = alloc.instance
    if alloc.prices is None or alloc.limit_prices is None:
        return False
    cheap = 1e-5 * inst.weight.sum()
    rows = (alloc.utilisation > 1 - 1e-5) & (alloc.prices * inst.pool < cheap)
    limits = np.isfinite(inst.limit) & (alloc.totals > inst.limit * (1 - 1e-5))
    limits &= alloc.limit_prices * np.where(limits, inst.limit, 0.0) < cheap
    return bool(rows.any() or limits.any())


@pytest.mark.parametrize("notion", UNIQUE, ids=label)
@settings(max_examples=EXAMPLES // 12, deadline=None)
@given(inst=crowds())
def test_totals_that_are_unique_are_equal(notion: Notion, inst: fo.Instance) -> None:
    merged = fo.solve(inst, notion, reduce=True, uncertified="return")
    apart = fo.solve(inst, notion, reduce=False, uncertified="return")
    assert merged.certificate is not None and apart.certificate is not None
    if apart.certificate.certified:
        assert merged.certificate.certified, merged.certificate.explain()
        # each is as far from the one answer as its own residual says, or about that
        known = merged.certificate.residual + apart.certificate.residual
        near = 1e-9 + 30 * known
        if free_and_full(apart):
            near += 3 * np.sqrt(known / money(apart).min())
        np.testing.assert_allclose(merged.shares, apart.shares, rtol=near)
    np.testing.assert_array_equal(merged.score, apart.score)
    assert merged.notion == apart.notion


@pytest.mark.parametrize("notion", OTHER, ids=label)
@settings(max_examples=EXAMPLES // 12, deadline=None)
@given(inst=crowds())
def test_other_answers_are_certified_too(notion: Notion, inst: fo.Instance) -> None:
    merged = fo.solve(inst, notion, reduce=True, uncertified="return")
    apart = fo.solve(inst, notion, reduce=False, uncertified="return")
    assert merged.certificate is not None and apart.certificate is not None
    assert merged.certificate.certified >= apart.certificate.certified
    if apart.objective is not None:
        assert merged.objective == pytest.approx(apart.objective, rel=1e-6)


def test_every_rule_is_tried() -> None:
    tried = {notion.name for notion in (*UNIQUE, *OTHER)} | {"bmf"}
    alpha = {"alpha-fair": {"alpha": 2.0}}
    ruled = {
        name
        for name, notion in NOTIONS.items()
        if notion(**alpha.get(name, {})).merging is not None
    }
    assert ruled and ruled <= tried


@settings(max_examples=EXAMPLES // 3, deadline=None)
@given(inst=crowds(servers=1))
def test_bottlenecks_of_merged_users_are_certified(inst: fo.Instance) -> None:
    merged = fo.solve(inst, fo.BottleneckMaxFair())
    assert merged.certificate is not None and merged.certificate.certified


@settings(max_examples=EXAMPLES, deadline=None)
@given(inst=crowds(), notion=st.sampled_from([*UNIQUE, *OTHER]))
def test_tasks_split_and_merged_again_are_the_same(inst: fo.Instance, notion: Notion) -> None:
    """Any tasks of the small instance, within its capacities, are tasks of the original within its
    own: the use of every group of servers and the total of every group of users is the same."""
    small = reduce(inst, notion, score_of(inst, notion))
    rng = np.random.default_rng(0)
    x = np.where(small.instance.eligible, rng.random(small.instance.shape[:2]), 0.0)
    tasks, p, mu, levels = small.expand(
        x,
        rng.random(small.instance.pool.shape),
        rng.random(len(x)),
        rng.random((2, *small.instance.pool.shape)),
    )
    assert p is not None and mu is not None and levels is not None
    assert tasks.shape == inst.shape[:2] and (tasks[~inst.eligible] == 0).all()
    back = np.zeros_like(x)
    np.add.at(back, np.ix_(small.users.of, small.servers.of), tasks)
    np.testing.assert_allclose(back, x, rtol=1e-12)
    kept, original = small.instance, inst.pool[:, small.resources]
    used, part = inst.used(tasks)[:, small.resources], np.zeros(inst.shape[1])
    for r in range(len(small.resources)):
        np.testing.assert_allclose(small.servers.sums(used[:, r]), kept.used(x)[:, r], rtol=1e-12)
        pool = small.servers.sums(original[:, r])
        np.testing.assert_allclose(pool, kept.pool[:, r], rtol=1e-12)
        # each server's use is its part of the group's
        part = np.divide(used[:, r], original[:, r], out=part * 0, where=original[:, r] > 0)
        np.testing.assert_allclose(part, part[small.servers.first][small.servers.of], rtol=1e-12)
    assert p.shape == inst.pool.shape and levels.shape == (2, *p.shape)
    assert mu.shape == (inst.shape[0],)


# -- kinds of GPU ---------------------------------------------------------------------------------

TWO_KINDS = ([[1, 4, 0], [4, 8, 1], [2, 2, 0]], [[32, 64, 0], [64, 256, 8]])


def gpu_cluster(seed: int) -> fo.Instance:
    """Cores, memory and up to three kinds of GPU; no machine has more than one kind, some none."""
    rng = np.random.default_rng(seed)
    kinds, machines, users = (int(k) for k in rng.integers([1, 2, 2], [4, 7, 9]))
    has, wants = rng.integers(-1, kinds, machines), rng.integers(-1, kinds, users)
    has[:kinds] = np.arange(kinds)[:machines]
    wants = np.where(np.isin(wants, has), wants, -1)
    cores = rng.choice([16, 32, 64, 96], machines)
    capacity = np.column_stack([cores, cores * rng.choice([2, 4, 8], machines)])
    demand = rng.integers(1, 9, (users, 2))
    gpus = np.where(has[:, None] == np.arange(kinds), rng.choice([4, 8], machines)[:, None], 0)
    asked = np.where(wants[:, None] == np.arange(kinds), rng.choice([1, 2], users)[:, None], 0)
    return fo.Instance(
        np.hstack([demand, asked]),
        np.hstack([capacity, gpus]),
        weight=rng.choice([1.0, 2.0], users),
        count=rng.integers(1, 4, machines),
    )


@pytest.mark.parametrize("notion", [*UNIQUE, *OTHER], ids=label)
@pytest.mark.parametrize("arrays", [([[1, 0], [0, 1]], [[1, 0], [0, 1]]), TWO_KINDS])
def test_a_resource_that_some_servers_lack(notion: Notion, arrays: Any) -> None:
    inst = fo.Instance(*arrays)
    merged, apart = fo.solve(inst, notion), fo.solve(inst, notion, reduce=False)
    assert merged.certificate is not None and merged.certificate.certified
    if notion in UNIQUE:
        np.testing.assert_allclose(merged.totals, apart.totals, rtol=1e-7)
    assert (merged.used <= inst.pool * (1 + 1e-9)).all()


@pytest.mark.parametrize("model", GPU_MODELS)
@pytest.mark.parametrize("name", NOTIONS)
def test_models_with_gpus_are_solved_under_every_notion(model: str, name: str) -> None:
    """Every notion of the README's table; bottleneck max fairness is defined for one pool alone."""
    inst = fo.read(model).instance
    notion = NOTIONS[name](**({"alpha": 3.0} if name == "alpha-fair" else {}))
    if name == "bmf":
        with pytest.raises(fo.UsageError, match="servers; wanted one"):
            fo.solve(inst, notion)
        return
    alloc = fo.solve(inst, notion)
    assert alloc.certificate is not None and alloc.certificate.certified
    assert fo.certify(
        fo.Allocation(
            inst, notion, alloc.tasks, alloc.prices, alloc.limit_prices, alloc.level_prices
        )
    ).certified


@pytest.mark.parametrize("seed", range(60))
def test_gpu_clusters_are_solved(seed: int) -> None:
    inst = gpu_cluster(seed)
    notion = [fo.ProportionalFair(), fo.AlphaFair(2.0), fo.MaxMin()][seed % 3]
    merged, apart = fo.solve(inst, notion), fo.solve(inst, notion, reduce=False)
    assert merged.certificate is not None and merged.certificate.certified
    np.testing.assert_allclose(merged.totals, apart.totals, rtol=1e-6)


# -- the rules, one by one -------------------------------------------------------------------------


def pool(weight: list[float], limit: Any = None, demand: Any = None) -> fo.Instance:
    return fo.Instance(demand or [[1.0, 2.0]] * len(weight), [[8.0, 12.0]], None, weight, limit)


@pytest.mark.parametrize(
    ("notion", "parts"),
    [
        (fo.ProportionalFair(), [1, 4]),
        (fo.AlphaFair(2.0), [1, 2]),
        (fo.AlphaFair(0.5), [1, 16]),
        (fo.AlphaFair(2.0, weight_inside=True), [1, 4]),
        (fo.MaxMin(), [1, 4]),
        (fo.Throughput(), [0, 1]),
        (fo.AlphaFair(0.0, weight_inside=True), [1, 1]),
        (fo.PerServerDominantShare(), [1, 4]),
        (fo.PerServerDominantShare("tdm"), [1, 4]),
        (fo.BottleneckMaxFair(), [1, 4]),
    ],
    ids=lambda value: label(value) if isinstance(value, Notion) else "",
)
def test_how_merged_users_share(notion: Notion, parts: list[float]) -> None:
    """docs/maths/reduction.md: in proportion to phi^(1/alpha) or phi, or all to the heaviest."""
    inst = pool([1.0, 4.0])
    small = reduce(inst, notion, score_of(inst, notion))
    assert small.instance.shape[0] == 1
    np.testing.assert_allclose(small.user_part, np.array(parts) / sum(parts), rtol=1e-14)
    alloc = fo.solve(inst, notion)
    assert alloc.certificate is not None and alloc.certificate.certified
    np.testing.assert_allclose(alloc.totals, 6 * small.user_part, rtol=1e-9)


@pytest.mark.parametrize("alpha", [50.0, 100.0, 0.01])
def test_the_merged_weight_is_a_number(alpha: float) -> None:
    """A thousand users at alpha = 100 have W = 1000^100 together; at 0.01 the lighter vanish."""
    weight = np.tile([1e-6, 1.0, 1e6], 400)
    inst = fo.Instance(np.tile([[1.0, 2.0]], (1200, 1)), [[8.0, 12.0]], weight=weight)
    small = reduce(inst, fo.AlphaFair(alpha), np.ones((1200, 1)))
    assert small.instance.shape[0] == 1 and np.isfinite(small.instance.weight).all()
    log_v = np.log(weight) / alpha
    due = np.exp(log_v - log_v.max())
    np.testing.assert_allclose(small.user_part, due / due.sum(), rtol=1e-12)
    alloc = fo.solve(inst, fo.AlphaFair(alpha), uncertified="return")
    assert alloc.certificate is not None
    # at .01 the lighter are due 1e-600 of the pool, which no float holds: nothing is proved of them
    assert alloc.certificate.verdict == ("unproved" if alpha == 0.01 else "certified")


def groups_of(inst: fo.Instance, notion: Notion) -> list[int]:
    return reduce(inst, notion, score_of(inst, notion)).users.of.tolist()


def test_limits_must_be_as_the_tasks() -> None:
    by_weight = pool([1.0, 2.0, 3.0], [0.1, 0.2, 0.3])
    assert 3 * 0.1 != 0.3  # 0.3 is not three times 0.1 exactly: user 3 stays alone
    assert groups_of(by_weight, fo.MaxMin()) == [0, 0, 1]
    assert groups_of(by_weight, fo.ProportionalFair()) == [0, 0, 1]
    assert groups_of(by_weight, fo.AlphaFair(2.0)) == [0, 1, 2]
    # the quotients round to one number, the ratios are two
    assert 0.1 / 0.3 == 1.1 / 3.3
    assert Fraction(0.1) * Fraction(3.3) != Fraction(0.3) * Fraction(1.1)
    assert groups_of(pool([0.3, 3.3], [0.1, 1.1]), fo.MaxMin()) == [0, 1]
    assert groups_of(by_weight, fo.AlphaFair(2.0, weight_inside=True)) == [0, 0, 1]
    equal = pool([1.0, 1.0, 2.0], [0.5, 0.5, 0.5])
    assert groups_of(equal, fo.AlphaFair(2.0)) == [0, 0, 1]
    assert groups_of(equal, fo.MaxMin()) == [0, 0, 1]
    some = pool([1.0, 1.0, 1.0], [0.5, np.inf, np.inf])
    assert groups_of(some, fo.ProportionalFair()) == [0, 1, 1]
    # efficiency: of any size, if the weights are equal
    assert groups_of(pool([1.0, 1.0, 2.0], [0.5, 0.7, 0.7]), fo.Throughput()) == [0, 0, 1]
    # a limit beyond what the user could run with everything is none
    assert groups_of(pool([1.0, 2.0], [7.0, np.inf]), fo.AlphaFair(2.0)) == [0, 0]


@pytest.mark.parametrize("notion", [fo.AlphaFair(2.0), fo.MaxMin(), fo.Throughput()], ids=label)
def test_prices_of_limits_are_those_of_each(notion: Notion) -> None:
    inst = fo.Instance([[1.0]] * 4, [[10.0]], weight=[2, 2, 1, 1], limit=[1, 1, np.inf, np.inf])
    alloc = fo.solve(inst, notion)
    assert alloc.certificate is not None and alloc.certificate.certified
    np.testing.assert_allclose(alloc.totals[:2], 1.0, rtol=1e-9)
    if alloc.limit_prices is not None:
        assert alloc.prices is not None
        money = (alloc.prices * inst.pool).sum() + alloc.limit_prices[:2].sum()
        assert money == pytest.approx(inst.weight.sum(), rel=1e-9)
        first, second, third = alloc.limit_prices[:3].tolist()
        assert first == pytest.approx(second, rel=1e-12) and first > 0 == third
    else:
        assert rooms(alloc).max() <= 1e-9


def servers_of(inst: fo.Instance, notion: Notion) -> list[int]:
    return reduce(inst, notion, score_of(inst, notion)).servers.of.tolist()


def test_servers_of_equal_and_of_proportional_capacity() -> None:
    capacity = [[1.0, 2.0], [0.1, 0.2], [1.0, 2.0], [0.3, 0.6], [0.3, 0.6000000000000001]]
    inst = fo.Instance([[1, 1], [1, 3]], capacity, count=[1, 2, 3, 1, 1])
    for notion in (
        fo.ProportionalFair(),
        fo.MaxMin(),
        fo.PerServerDominantShare("tdm"),
        fo.PerServerDRF(),
        fo.Throughput(),
    ):
        assert servers_of(inst, notion) == [0, 0, 0, 0, 1], notion
    # a task's share is of one machine here: larger where the machine is smaller
    assert servers_of(inst, fo.ProportionalFair("dominant-share")) == [0, 1, 0, 2, 3]
    # divided resources: the original has more answers than the merged
    assert servers_of(inst, fo.PerServerDominantShare()) == [0, 1, 2, 3, 4]
    small = reduce(inst, fo.MaxMin("dominant-share"), criteria.dominant_share(inst))
    assert small.instance.count.tolist() == [4, 2, 1, 1]
    assert small.instance.capacity[0].tolist() == [1.0, 2.0]
    np.testing.assert_array_equal(small.server_part, [0.25, 1, 0.75, 1, 1])


def test_capacities_that_only_round_to_one_shape_stay_apart() -> None:
    inst = fo.Instance([[3, 1.5], [3, 0.5]], [[0.3, 0.1], [3.3, 1.1], [0.6, 0.2]])
    assert inst.capacity[0, 1] / 0.3 == inst.capacity[1, 1] / 3.3
    assert servers_of(inst, fo.ProportionalFair()) == [0, 1, 0]


def test_servers_that_users_tell_apart_stay_apart() -> None:
    equal = [[1.0, 2.0]] * 3
    placed = fo.Instance([[1, 1], [1, 3]], equal, [[1, 1, 1], [1, 0, 0]])
    assert servers_of(placed, fo.ProportionalFair()) == [0, 1, 1]
    by_server = fo.Instance([[[1.0, 1.0], [1.0, 1.0], [2.0, 1.0]]], equal)
    assert servers_of(by_server, fo.ProportionalFair()) == [0, 0, 1]
    scores = np.array([[1.0, 1.0, 2.0], [1.0, 1.0, 1.0]])
    inst = fo.Instance([[1, 1], [1, 3]], equal)
    assert reduce(inst, fo.MaxMin(), scores).servers.of.tolist() == [0, 0, 1]
    assert reduce(inst.replace(demand=np.ones((2, 2))), fo.MaxMin(), scores).users.of.tolist() == [
        0,
        1,
    ]


def test_scores_are_those_of_the_original() -> None:
    """`drf` divides by the whole pool and `tsf` by all servers: the same after merging."""
    inst = fo.generate.random_instance(4, 3, 2, seed=3)
    rows, who = np.repeat(np.arange(3), [3, 1, 2]), np.repeat(np.arange(4), [2, 1, 3, 1])
    many = fo.Instance(inst.demand[who], inst.capacity[rows])
    for criterion in criteria.CRITERIA:
        small = reduce(many, fo.MaxMin(criterion), criteria.score(many, criterion))
        assert small.instance.shape[:2] == (4, 3)
        assert small.score is not None
        np.testing.assert_allclose(
            small.score, criteria.score(small.instance, criterion), rtol=1e-14
        )


# -- what the answer says --------------------------------------------------------------------------


def crowd() -> fo.Instance:
    base = fo.read("khamse2016/figure-2").instance
    who, rows = np.arange(12) % base.shape[0], np.arange(6) % base.shape[1]
    return fo.Instance(
        base.demand[who], base.capacity[rows], base.placement[np.ix_(who, rows)], base.weight[who]
    )


def test_levels_name_all_users_and_servers() -> None:
    inst = crowd()
    merged, apart = (fo.solve(inst, fo.MaxMin(), reduce=on) for on in (True, False))
    assert merged.steps[0] == {
        "step": "reduce",
        "users": [12, 4],
        "servers": [6, 2],
        "never binding": ["r3"],
    }
    assert merged.level_prices is not None and merged.level_prices.shape[1:] == inst.pool.shape
    named = [name for step in merged.steps[1:] for name in step["users"]]
    assert sorted(named) == sorted(inst.users)
    first, second = merged.steps[1], apart.steps[0]
    assert sorted(first["users"]) == sorted(second["users"])
    assert sorted(first["full"]) == sorted(second["full"])
    assert rooms(merged).max() <= 1e-9


def test_a_spoiled_split_is_not_certified() -> None:
    """The certificate judges the expanded answer: the tasks of one member alone spoil it."""
    inst = crowd()
    alloc = fo.solve(inst, fo.ProportionalFair())
    assert alloc.prices is not None and measure(alloc)[1] <= 1e-9
    tasks = alloc.tasks.copy()
    tasks[0] *= 0.9
    assert not fo.certify(alloc.with_(tasks=tasks)).certified
    # other prices are no other answer
    prices = alloc.prices.copy()
    prices[0] *= 0.9
    assert fo.certify(alloc.with_(prices=prices)).certified


def test_nothing_to_merge_changes_nothing() -> None:
    inst = fo.generate.random_instance(6, 3, 3, seed=1)
    for notion in (fo.ProportionalFair(), fo.MaxMin()):
        on, off = (fo.solve(inst, notion, reduce=flag) for flag in (True, False))
        assert results.dumps(on) == results.dumps(off)
    small = reduce(inst, fo.ProportionalFair(), np.ones((6, 3)))
    assert small.instance is inst and small.steps == ()
    x = np.ones((6, 3))
    assert small.expand(x) == (x, None, None, None)


def test_notions_without_a_rule_are_left_alone() -> None:
    inst = crowd()
    without = {
        name
        for name, notion in NOTIONS.items()
        if name != "alpha-fair" and notion().merging is None
    }
    assert {"drf-hug", "equal-m", "sum-m"} <= without
    assert fo.BottleneckMaxFair("enumeration").merging is None
    assert fo.BottleneckMaxFair(objective="u1").merging is None
    for name in ("drf-hug", "equal-m", "sum-m"):
        assert reduce(inst, NOTIONS[name]()).instance is inst


def test_the_answer_is_deterministic_and_survives_a_file(tmp_path: Any) -> None:
    first, second = (fo.solve(crowd(), fo.MaxMin()) for _ in range(2))
    assert results.dumps(first) == results.dumps(second)
    first.save(tmp_path / "a.json")
    again = fo.load(tmp_path / "a.json")
    assert again == first and again.steps[0] == first.steps[0]
    assert fo.certify(again).certified


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    from fairopt.cli import run

    assert run(["solve", "edge/ties", "--notion", "max-min"]) == 0
    assert "3 users and 2 servers solved as 3 and 1\n" in capsys.readouterr().out
    assert run(["solve", "edge/ties", "--notion", "max-min", "--no-reduce"]) == 0
    assert "solved as" not in capsys.readouterr().out
