"""Solutions that are enclosed, beside the same in fractions; what follows from equations; answers
whose levels are proved so."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest
from scipy.sparse import csc_array
from scipy.sparse.linalg import splu

import fairopt as fo
from fairopt.certificates import judged
from fairopt.certificates.enclosed import BITS, Regular, ScaledSystem, one_by_one
from fairopt.certificates.enclosed_search import enclosed_levels, exact_levels
from fairopt.certificates.exact_verdict import ALL_ROUNDS
from fairopt.certificates.follows import Follows
from fairopt.certificates.lifted import Sparse, lifted


def equations(rng: np.random.Generator, size: int, digits: int):
    """Rows of few entries, and right sides, of a regular system."""
    rows = []
    for i in range(size):
        row = {int(j): int(rng.integers(-(2**digits), 2**digits)) for j in rng.integers(0, size, 2)}
        rows.append({**{j: a for j, a in row.items() if a}, i: int(rng.integers(1, 2**digits)) * 4})
    return rows, [int(b) for b in rng.integers(-(2**digits), 2**digits, size)]


@pytest.mark.parametrize("size", [1, 2, 7, 40])
@pytest.mark.parametrize("seed", range(5))
def test_what_is_enclosed_is_the_solution(size: int, seed: int) -> None:
    rng = np.random.default_rng([size, seed])
    rows, right = equations(rng, size, 53)
    shift = int(rng.integers(0, 80))
    if seed > 2:  # right sides with more digits than unknowns are worked out to
        shift = int(rng.integers(BITS - 20, BITS + 200))
        right = [(b << shift) + int(rng.integers(0, 2**53)) for b in right]
    number, bottom = lifted(Sparse.of(rows, size), np.array(right, dtype=object))
    exact = [F(v, bottom) / 2**shift for v in number]
    system = Regular.of(rows, right, shift, [abs(float(v)) or 1.0 for v in exact])
    assert system is not None
    for middle, wide, x in zip(system.middle, system.wide, exact, strict=True):
        assert abs(x * 2**system.bits - middle) <= wide
        assert wide <= 2**-300 * abs(x) * 2**system.bits + 1
    form, more = {0: 3, size - 1: -5}, 7
    low, high = system.value(form, more)
    value = sum(a * exact[j] for j, a in form.items()) + F(more, 2**shift)
    assert low <= value * 2**system.bits <= high


@pytest.mark.parametrize(
    "rows",
    [
        [{0: 1, 1: 2}, {0: 2, 1: 4}],
        [{0: 1, 1: 2}, {0: 2**60, 1: 2**61 + 1}],  # regular, but floats do not tell
        [{0: 1}, {0: 1}],
        [{0: 1, 1: 1, 2: 1}, {0: 1, 1: -1}, {0: 3, 1: 1, 2: 2}],
    ],
)
def test_what_is_not_proved_to_be_regular_encloses_nothing(rows) -> None:
    assert Regular.of(rows, [1] * len(rows), 0, [1.0] * len(rows)) is None


@pytest.mark.parametrize("digits", [4, 53])
@pytest.mark.parametrize("seed", range(6))
def test_what_follows_is_a_sum_of_equations(digits: int, seed: int) -> None:
    rng = np.random.default_rng([digits, seed])
    rows, right = equations(rng, 12, digits)
    # two that are multiples of others, and two that are equal
    rows[3], right[3] = {3: 2, 4: -3}, 0
    rows[7], right[7] = {7: 5, 4: 1}, 0
    system = Regular.of(rows, right, 0, [1.0] * 12)
    assert system is not None
    follows = Follows(system)
    for some in ([0], [3], [3, 7], [0, 5], [1, 2, 3, 9], [*range(12)]):
        times = {k: int(v) for k, v in zip(some, rng.integers(1, 99, len(some)), strict=True)}
        form: dict[int, int] = {}
        for k, y in times.items():
            for j, a in rows[k].items():
                form[j] = form.get(j, 0) + a * y
        last = sum(right[k] * y for k, y in times.items())
        assert follows.gives(form, last)
        assert not follows.gives(form, last + 1)
        assert not follows.gives({**form, 11: form.get(11, 0) + 1}, last)


def test_nothing_follows_from_numbers_that_are_almost_equal() -> None:
    """Unknowns that agree to two hundred digits of two, and differ."""
    big = 2**340
    rows = [{0: 1}, {1: big, 0: -big - 1}, {2: 1, 0: 1, 1: 1}]
    system = Regular.of(rows, [1, 0, 3], 0, [1.0] * 3)
    assert system is not None
    follows = Follows(system)
    assert follows.gives({1: big, 0: -big - 1}, 0)
    assert not follows.gives({1: 1, 0: -1}, 0)
    assert not follows.gives({2: 1, 0: 2}, 3)


@pytest.mark.parametrize("apart", [0, 1])
def test_unknowns_are_equal_if_all_that_is_left_agrees(apart: int) -> None:
    """Three equations of three unknowns, two of which are equal: three are left of two."""
    rows = [{0: 3, 1: 5, 2: 7}, {0: 2, 1: -1, 2: 3}, {0: 1, 1: 4, 2: -2}]
    value = [2**400, 2**400 + apart, 11 * 2**399]
    right = [sum(a * value[j] for j, a in row.items()) for row in rows]
    system = Regular.of(rows, right, 400, [1.0, 1.0, 5.5])
    assert system is not None
    follows = Follows(system)
    assert follows.gives({0: 1, 1: -1}, 0) == (apart == 0)
    assert not follows.gives({0: 1, 1: -1}, -1) or apart == 1
    assert follows.gives({0: 5, 1: 4, 2: 10}, right[0] + right[1])
    assert not follows.gives({0: 4, 1: 5, 2: 10}, right[0] + right[1]) or apart == 0


def draw(kind: str, seed: int, users: int = 12, servers: int = 5, part: float = 0.4) -> fo.Instance:
    rng = np.random.default_rng([seed, users])
    demand, capacity = rng.lognormal(0, 1, (users, 3)), rng.lognormal(2, 1, (servers, 3))
    may = rng.random((users, servers)) < part
    may[np.arange(users), rng.integers(0, servers, users)] = True
    weight, limit = np.ones(users), np.full(users, np.inf)
    if "whole" in kind:
        demand = rng.integers(1, 9, (users, 3)).astype(float)
        capacity = rng.integers(9, 60, (servers, 3)).astype(float)
    if "limit" in kind:
        limit = np.where(rng.random(users) < 0.4, rng.integers(1, 6, users), np.inf)
    if "alike" in kind:
        of = rng.integers(0, users // 3, users)
        demand, may, limit = demand[of], may[of], limit[of]
    if "servers" in kind:
        of = rng.integers(0, 2, servers)
        capacity, may = capacity[of], may | may[:, of]
    if "weights" in kind:
        weight = 10 ** rng.uniform(-3, 3, users)
    return fo.Instance(demand, capacity, placement=may, weight=weight, limit=limit)


KINDS = ("", "whole", "limit", "whole limit", "alike", "alike servers limit", "weights")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_levels_are_those_in_fractions(kind: str, seed: int) -> None:
    inst = draw(kind, seed)
    alloc = fo.solve(inst, fo.MaxMin(), uncertified="return")
    exact, found = exact_levels(alloc), enclosed_levels(alloc)
    assert exact is not None and found is not None
    for low, high, share in zip(found.low, found.high, exact.share, strict=True):
        assert low <= share <= high <= low * (1 + F(1, 2**150))
    assert [inst.users[n] for n in found.first] == sorted(exact.rounds[0], key=inst.users.index)


@pytest.mark.parametrize("kind", KINDS)
def test_larger_clusters_are_certified_by_fractions(kind: str) -> None:
    alloc = fo.solve(draw(kind, 1, 150, 40, 0.05), fo.MaxMin("tasks"))
    found = alloc.certificate
    assert np.count_nonzero(alloc.by_way) > 150
    assert found is not None and found.certified and found.checks[-1].name == ALL_ROUNDS
    for (low, high), share in zip(found.intervals, alloc.shares, strict=True):
        assert (
            low <= share * (1 + 1e-9) and share <= high * (1 + 1e-9) and high <= low * (1 + 1e-14)
        )


@pytest.mark.parametrize("kind", ["limit", "whole limit"])
@pytest.mark.parametrize("part", [1e-5, 1e-2])
def test_forged_answers_are_not_certified(kind: str, part: float) -> None:
    alloc = fo.solve(draw(kind, 2, 130, 40, 0.1), fo.MaxMin("tasks"))
    assert np.count_nonzero(alloc.by_way) > 150 and alloc.level_prices is not None
    rng = np.random.default_rng(3)
    tasks = alloc.tasks.copy()
    tasks[rng.integers(130)] *= 1 - part
    prices = [p * rng.uniform(0.5, 2, p.shape) for p in alloc.level_prices]
    assert not judged(alloc.with_(tasks=tasks, certificate=None)).certified
    forged = alloc.with_(tasks=tasks, level_prices=prices, certificate=None)
    assert enclosed_levels(forged) is None and not judged(forged).certified


@pytest.mark.parametrize("seed", range(6))
def test_unknowns_that_equations_give_one_after_another_are_written_out(seed: int) -> None:
    """In any order of equations; and then what follows is asked of the fractions themselves."""
    rng, size = np.random.default_rng(seed), 9
    rows = [
        {j: int(rng.integers(1, 50)) for j in {k, int(rng.integers(0, k + 1))}} for k in range(size)
    ]
    right = [int(b) for b in rng.integers(-20, 20, size)]
    order, name = rng.permutation(size).tolist(), rng.permutation(size).tolist()
    rows = [{name[j]: a for j, a in rows[k].items()} for k in order]
    right = [right[k] for k in order]
    number, bottom = lifted(Sparse.of(rows, size), np.array(right, dtype=object))
    system = Regular.of(rows, right, 3, [1.0] * size)
    assert system is not None and system.written is not None
    assert list(system.written) == [F(int(v), bottom * 8) for v in number]
    for middle, wide, x in zip(system.middle, system.wide, system.written, strict=True):
        assert abs(x * 2**system.bits - middle) <= wide == 1
    follows = Follows(system)
    both = {c: rows[0].get(c, 0) + 2 * rows[1].get(c, 0) for c in (*rows[0], *rows[1])}
    assert follows.gives(both, right[0] + 2 * right[1])
    assert not follows.gives(both, right[0] + 2 * right[1] + 1)


def test_what_is_not_one_after_another_or_has_many_digits_is_not_written_out() -> None:
    assert one_by_one([{0: 1, 1: 1}, {0: 1, 1: -1}], [1, 0], 0) is None
    assert one_by_one([{0: 2}, {0: 4}], [1, 2], 0) is None  # one unknown of two is left open
    assert one_by_one([{0: 3}, {0: 1, 1: 0}], [1, 2], 0) is None
    chain = [{0: 3**400}, *({k: 3**400, k + 1: 1 - 3**401} for k in range(8))]
    assert one_by_one(chain[:3], [1] * 3, 0) is not None and one_by_one(chain, [1] * 9, 0) is None


@pytest.mark.parametrize("seed", range(8))
def test_factors_enclose_what_the_inverse_does(seed: int) -> None:
    """Without the inverse an enclosure is wider, and never narrower than solutions in fractions."""
    rng, size = np.random.default_rng(seed), 12
    rows, _ = equations(rng, size, (4, 30, 53)[seed % 3])
    system = ScaledSystem.of(rows, [1.0] * size)
    assert system is not None
    left, more = rng.standard_normal(size), np.abs(rng.standard_normal(size))
    narrow, wide = system.wide(left, more), system._by_factors(left, more)
    assert narrow is not None and wide is not None
    assert (wide >= narrow * (1 - 1e-6)).all()
    for sign in (1, -1, 0):
        scaled = [
            F(v) * F(2) ** (int(e) - 1) for v, e in zip(left + sign * more, system.row, strict=True)
        ]
        by = max(v.denominator for v in scaled)
        right = np.array([int(v * by) for v in scaled], dtype=object)
        number, bottom = lifted(Sparse.of(rows, size), right)
        for y, most in zip(number, wide, strict=True):
            assert abs(F(int(y), bottom * by)) <= F(float(most))


def test_factors_of_a_matrix_that_may_be_singular_enclose_nothing() -> None:
    one = np.ones(2, dtype=np.int64)
    near = csc_array([[1.0, 1.0], [1.0, 1.0 + 2.0**-51]])
    system = ScaledSystem([{0: 1, 1: 1}] * 2, one, one, near, splu(near))
    assert system._by_factors(np.ones(2), None) is None and system.wide(np.ones(2)) is None


@pytest.mark.parametrize("inverse", [1.0, 0.8, 0.6, 1.4, 0.501])
def test_an_inverse_that_is_far_off_encloses_no_less(inverse: float) -> None:
    """Of x = b the enclosure is |R b| + G |R b| / (1 - G) with G = |1 - R|: just as wide as the
    solution is, for R from 1/2 to 1."""

    class Rough:
        def solve(self, right, trans="N"):
            return inverse * right

    one = np.ones(1, dtype=np.int64)
    system = ScaledSystem([{0: 1}], one, one, csc_array([[1.0]]), Rough())
    wide = system.wide(np.array([3.0]))
    assert wide is not None
    assert 3.0 <= wide[0] <= 3.0 * max(1.0, inverse / (2 - inverse)) * (1 + 1e-8)


def test_an_inverse_further_off_than_half_encloses_nothing() -> None:
    class Rough:
        def solve(self, right, trans="N"):
            return 0.499 * right

    one = np.ones(1, dtype=np.int64)
    system = ScaledSystem([{0: 1}], one, one, csc_array([[1.0]]), Rough())
    assert system.wide(np.array([3.0])) is None


def test_levels_of_a_cluster_where_everybody_runs_everywhere_are_proved() -> None:
    """24,000 tasks held by queues on unlike nodes, limits, tens of levels: as operators have it."""
    rng = np.random.default_rng(0)
    users, servers = 160, 150
    inst = fo.Instance(
        rng.uniform(0.1, 1, (users, 3)).round(2),
        rng.uniform(5, 20, (servers, 3)).round(2),
        weight=rng.uniform(0.5, 2, users).round(3),
        limit=np.where(rng.random(users) < 0.3, rng.integers(2, 30, users), np.inf),
        users=[f"u{k}" for k in range(users)],
        quotas=fo.Quotas(
            [fo.Group(f"q{k}") for k in range(8)], {f"u{k}": f"q{k % 8}" for k in range(users)}
        ),
    )
    alloc = fo.solve(inst, fo.MaxMin(measure="dominant"))
    assert np.count_nonzero(alloc.tasks) > 20_000 and len(alloc.rounds) > 20
    assert alloc.certificate.checks[-1].name == ALL_ROUNDS
    spoiled = alloc.tasks.copy()
    spoiled[3] *= 1 - 1e-5
    assert not fo.certify(alloc.with_(tasks=spoiled)).certified
