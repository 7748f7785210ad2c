"""Users in partitions: the answer of one instance, judged on its own, to the same bytes."""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates import partitions as judge
from fairopt.instance import Floats
from fairopt.solving.partitions import _shown


def cluster(users: int, limits: bool = False, seed: int = 2) -> fo.Instance:
    """Four servers that are not alike, everybody placed at random."""
    rng = np.random.default_rng(seed)
    capacity = rng.uniform(1, 10, (4, 2)) * users
    placement = rng.random((users, 4)) < 0.5
    placement[np.arange(users), rng.integers(0, 4, users)] = True
    limit = np.where(rng.random(users) < 0.5, 5.0, np.inf) if limits else None
    return fo.Instance(
        rng.lognormal(0, 1, (users, 2)), capacity, placement, rng.uniform(0.5, 2, users), limit
    )


def whole(answer: fo.PartitionedAnswer, parts: int) -> Floats:
    return np.concatenate([answer.tasks(k) for k in range(parts)])


@pytest.mark.parametrize("limits", [False, True])
@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
def test_the_answer_is_that_of_one_instance(tmp_path: Path, alpha: float, limits: bool) -> None:
    inst, notion = cluster(500, limits), fo.AlphaFair(alpha)
    fo.write_partitions(inst, tmp_path / "in", 150)
    found = fo.solve_partitions(tmp_path / "in", notion, tmp_path / "out", sample=200)
    assert found.certificate.certified and found.users == 500
    assert max(found.certificate.gap, found.certificate.residual) < 1e-9
    tasks = whole(found, 4)
    one = fo.solve(inst, notion, reduce=False)
    np.testing.assert_allclose(tasks.sum(axis=1), one.totals, rtol=1e-8)
    # the ordinary judge says the same of the same answer
    mu = np.concatenate([found.limit_prices(k) for k in range(4)]) if limits else None
    other = fo.certify(fo.Allocation(inst, notion, tasks, found.prices, mu))
    assert other.certified
    np.testing.assert_allclose(other.residual, found.certificate.residual, atol=1e-11)
    np.testing.assert_allclose(other.gap, found.certificate.gap, atol=1e-11)


def test_workers_write_the_same_bytes(tmp_path: Path) -> None:
    fo.write_partitions(cluster(300), tmp_path / "in", 80)
    notion, calls = fo.ProportionalFair(), []
    fo.solve_partitions(
        tmp_path / "in", notion, tmp_path / "one",
        progress=lambda passes, doing: calls.append((passes, doing)),
    )  # fmt: skip
    assert calls[0] == (1, "check") and calls[-1][1] == "judge"
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        fo.solve_partitions(tmp_path / "in", notion, tmp_path / "two", executor)
    names = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "two").iterdir())
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


class Stopped(Exception):
    pass


def test_a_call_that_was_stopped_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    source = fo.write_partitions(cluster(300, limits=True), tmp_path / "in", 80)
    notion = fo.ProportionalFair()
    one = fo.solve_partitions(source, notion, tmp_path / "one", sample=100)

    def stop(passes: int, doing: str) -> None:
        if passes == one.passes - 12:
            raise Stopped

    with pytest.raises(Stopped):
        fo.solve_partitions(source, notion, tmp_path / "two", progress=stop, sample=100)
    assert (tmp_path / "two" / "state.npz").is_file()
    two = fo.solve_partitions(source, notion, tmp_path / "two", sample=100)
    assert two.passes < 30 < one.passes
    for k in range(4):
        for name in ("tasks", "limit_prices"):
            file = f"{name}-{k:05d}.npy"
            assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
    assert not (tmp_path / "two" / "state.npz").exists()


def test_a_place_of_another_question_or_damaged_is_left(tmp_path: Path) -> None:
    notion, out = fo.ProportionalFair(), tmp_path / "out"

    def stop(passes: int, doing: str) -> None:
        if passes == 20:
            raise Stopped

    source = fo.write_partitions(cluster(200), tmp_path / "in", 120)
    with pytest.raises(Stopped):
        fo.solve_partitions(source, notion, out, progress=stop)
    other = fo.write_partitions(cluster(200, seed=3), tmp_path / "other", 120)
    assert fo.solve_partitions(other, notion, out).certificate.certified
    (out / "state.npz").write_bytes(b"PK damaged")
    assert fo.solve_partitions(source, notion, out).certificate.certified


def test_parquet_holds_the_same(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    inst = cluster(200)
    fo.write_partitions(inst, tmp_path / "npy", 120)
    (tmp_path / "parquet").mkdir()
    np.save(tmp_path / "parquet" / "capacity.npy", inst.pool)
    for k, rows in enumerate((slice(0, 120), slice(120, 200))):
        columns = {f"demand.{r + 1}": inst.demand[rows, r] for r in range(2)}
        columns |= {f"placement.{i + 1}": inst.placement[rows, i] for i in range(4)}
        columns["weight"] = inst.weight[rows]
        parquet.write_table(pa.table(columns), tmp_path / "parquet" / f"users-{k:05d}.parquet")
    notion = fo.ProportionalFair()
    one = fo.solve_partitions(tmp_path / "npy", notion, tmp_path / "one")
    two = fo.solve_partitions(tmp_path / "parquet", notion, tmp_path / "two")
    np.testing.assert_array_equal(whole(one, 2), whole(two, 2))


# -- the judge -------------------------------------------------------------------------------------


class Judged:
    """An answer in two partitions, and its verdict after a change of it."""

    def __init__(self, folder: Path, limits: bool = False) -> None:
        self.source = fo.write_partitions(cluster(200, limits), folder / "in", 120)
        self.found = fo.solve_partitions(self.source, fo.ProportionalFair(), folder / "out")
        self.shown = [_shown(self.source, k, folder / "out") for k in range(2)]

    def verdict(self, *shown: judge.Shown, prices: Floats | None = None) -> fo.Certificate:
        terms = judge.Terms(
            1.0, False, self.found.prices if prices is None else prices, self.source.capacity
        )
        one, two = shown or self.shown
        first = judge.used(one, terms) + judge.used(two, terms)
        second = judge.proved(one, terms, first) + judge.proved(two, terms, first)
        third = judge.errors(one, terms, first, second)
        third = third.after(judge.errors(two, terms, first, second), 120)
        return judge.verdict(terms, first, second, third)

    def with_tasks(self, tasks: Floats) -> fo.Certificate:
        return self.verdict(replace(self.shown[0], tasks=tasks), self.shown[1])


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    return Judged(tmp_path_factory.mktemp("judged"))


def test_the_judge_accepts_the_answer(judged: Judged) -> None:
    assert judged.verdict().certified


@pytest.mark.parametrize("part", [1e-4, 1e-5])
def test_spoiled_tasks_are_not_certified(judged: Judged, part: float) -> None:
    x = judged.shown[0].tasks
    assert judged.with_tasks(x * (1 + part)).verdict == "refuted"  # too much of everything
    less = x.copy()
    less[7] *= 1 - part  # one user is given less
    assert judged.with_tasks(less).verdict == "unproved"
    moved = x.copy()
    moved[3] *= 1 + part
    moved[5] *= 1 - part
    assert not judged.with_tasks(moved).certified


def test_tasks_out_of_place_below_zero_or_not_numbers_are_refuted(judged: Judged) -> None:
    shown = judged.shown[0]
    user, server = np.argwhere(~shown.users.placement)[0]
    for value, where in ((1e-9, (user, server)), (-1e-9, (0, 0)), (np.nan, (0, 0))):
        x = shown.tasks.copy()
        x[where] = value
        assert judged.with_tasks(x).verdict == "refuted"


def test_forged_prices_are_not_certified(judged: Judged) -> None:
    p = judged.found.prices
    for forged in (p * [[1.0, 1.001]], np.ones_like(p), p * np.array([[1.001], [1], [1], [1]])):
        assert not judged.verdict(prices=forged).certified
    # one scale of all prices is free
    assert judged.verdict(prices=p * 7).certified


def test_a_light_user_is_seen_beside_heavy_ones(judged: Judged) -> None:
    """A user of a millionth of a millionth of the money must be right as well, or nobody is."""
    one = judged.shown[0]
    weight = one.users.weight.copy()
    weight[0] *= 1e-12
    x = one.tasks.copy()
    x[0] *= 1e-12
    light = replace(one, tasks=x, users=replace(one.users, weight=weight))
    assert not judged.verdict(light, judged.shown[1]).certified


def test_limits_without_reason_are_not_certified(tmp_path: Path) -> None:
    found = Judged(tmp_path, limits=True)
    assert found.verdict().certified
    one = found.shown[0]
    assert not found.verdict(replace(one, limit_prices=one.mu * 1.01), found.shown[1]).certified
    assert not found.verdict(replace(one, limit_prices=None), found.shown[1]).certified
    over = replace(one, users=replace(one.users, limit=one.users.limit * 0.9))
    assert found.verdict(over, found.shown[1]).verdict == "refuted"


# -- faults ----------------------------------------------------------------------------------------


def test_all_faults_of_all_partitions_at_once(tmp_path: Path) -> None:
    source = fo.write_partitions(cluster(30), tmp_path / "in", 10)
    for k, name, value in ((0, "demand", -1.0), (2, "weight", 0.0)):
        path = tmp_path / "in" / f"{name}-{k:05d}.npy"
        array = np.load(path)
        array[4] = value
        np.save(path, array)
    with pytest.raises(fo.BadInput) as caught:
        fo.solve_partitions(source, fo.ProportionalFair(), tmp_path / "out")
    places = [fault.place for fault in caught.value.faults]
    assert places == [
        "partition 00000, user 5, demand", "partition 00000, user 5, demand",
        "partition 00002, user 5, weight",
    ]  # fmt: skip
    assert not (tmp_path / "out").exists()  # nothing was begun


def test_what_is_not_answered_is_refused(tmp_path: Path) -> None:
    with pytest.raises(fo.BadInput, match="capacity.npy"):
        fo.Partitions(tmp_path)
    source = fo.write_partitions(cluster(30), tmp_path / "in", 10)
    for notion in (fo.MaxMin(), fo.AlphaFair(0), fo.AlphaFair(1.0, criterion="drf")):
        with pytest.raises(fo.UsageError, match="partitions"):
            fo.solve_partitions(source, notion, tmp_path / "out")
    with pytest.raises(fo.UsageError, match="uncertified"):
        fo.solve_partitions(source, fo.ProportionalFair(), tmp_path / "out", uncertified="no")
    with pytest.raises(fo.BadInput, match="users"):
        fo.write_partitions(cluster(30), tmp_path / "in", 0)


def test_an_answer_that_does_not_end_is_not_certified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fairopt.solving.engines.smoothed import path

    monkeypatch.setattr(path, "MOST", 4)
    source = fo.write_partitions(cluster(60), tmp_path / "in", 40)
    with pytest.raises(fo.NotCertified):
        fo.solve_partitions(source, fo.ProportionalFair(), tmp_path / "out")
    found = fo.solve_partitions(
        source, fo.ProportionalFair(), tmp_path / "out", uncertified="return"
    )
    assert not found.certificate.certified
