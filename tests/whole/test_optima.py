"""Most tasks of all, and the fairest levels, beside every placement looked at."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from fairopt import Instance
from fairopt.cli import run
from fairopt.errors import UsageError
from fairopt.filling import fill
from fairopt.filling import optimum as most_of
from fairopt.whole.optima import optimum, total
from fairopt.whole.proof.answer import dumps
from fairopt.whole.proof.judging import PROVED, judge
from fairopt.whole.proof.reading import loads


def drawn(seed):
    rng = np.random.default_rng(seed)
    users, servers = int(rng.integers(2, 4)), int(rng.integers(1, 3))
    demand = rng.integers(1, 4, (users, 2))
    return Instance(
        demand,
        rng.integers(3, 8, (servers, 2)),
        placement=(rng.random((users, servers)) < 0.7) | (np.arange(servers) == 0),
        weight=rng.integers(1, 4, users),
        limit=rng.integers(1, 6, users),
    )


def every_total(inst):
    """All totals that the servers can hold, looked at one by one."""
    users = len(inst.users)
    each = []
    for i, room in enumerate(inst.capacity):
        most = [int(inst.limit[n]) if inst.eligible[n, i] else 0 for n in range(users)]
        each.append(
            [
                own
                for own in product(*(range(m + 1) for m in most))
                if (np.array(own) @ inst.demand <= room).all()
            ]
        )
    sums = {tuple(map(sum, zip(*own, strict=True))) for own in product(*each)}
    return [own for own in sums if all(own <= inst.limit)]


def levels(inst, totals):
    """Sorted dominant shares by weight, in fractions."""
    pool = [Fraction(int(c)) for c in inst.pool.sum(axis=0)]
    share = [
        max(Fraction(int(d)) / c for d, c in zip(row, pool, strict=True)) for row in inst.demand
    ]
    return sorted(m * s / int(w) for m, s, w in zip(totals, share, inst.weight, strict=True))


def test_optima_are_those_of_every_placement():
    """All are the best there are; what prices cannot prove is a stated gap, and that is rare."""
    proved = 0
    for seed in range(40):
        inst = drawn(seed)
        those = every_total(inst)
        assert total(optimum(inst)) == (max(map(sum, those)),) * 2
        fairest = optimum(inst, "levels")
        assert levels(inst, fairest.totals) == max(levels(inst, own) for own in those)
        again = judge(loads(dumps(fairest), "x"))
        assert again.sound and not again.parts and again == judge(fairest)
        proved += again.state == PROVED
    assert proved >= 36, proved


def test_many_machines_alike_cost_nothing():
    inst = Instance([[2, 1], [1, 3]], [[7, 9]], count=[10**6])
    best = most_of(inst)
    assert best.proved and best.total == 4 * 10**6  # 3 and 1 fill a machine best
    assert (
        fill(inst.replace(count=[3]), "drf").totals.sum() <= most_of(inst.replace(count=[3])).bound
    )


def test_without_whole_parts_nothing_else_is_said(capsys, tmp_path):
    saved = str(tmp_path / "o.json")
    assert run(["whole", "kesidis2018/example", "--optimum", "levels", "-o", saved]) == 0
    assert "proved: levels in whole tasks" in capsys.readouterr().out
    assert run(["verify", saved]) == 0


@pytest.mark.parametrize(
    ("kind", "more", "said"),
    [
        ("least", {}, "wanted one of most, levels"),
        ("levels", {"criterion": "x"}, "criterion: found 'x'"),
        ("levels", {"criterion": "dominant-share"}, "a score by server"),
    ],
)
def test_what_is_not_known_is_refused(kind, more, said):
    with pytest.raises(UsageError, match=said):
        optimum(Instance([[1]], [[1]]), kind, **more)


def test_an_optimum_beside_a_due_is_refused(capsys):
    assert run(["whole", "kesidis2018/example", "--optimum", "most", "--notion", "max-min"]) == 2
    assert "--optimum" in capsys.readouterr().err
