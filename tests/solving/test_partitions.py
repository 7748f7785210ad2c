"""Users in partitions: the answer of one instance, judged on its own, to the same bytes."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

import fairopt as fo
from fairopt.certificates import partitions as judge
from fairopt.certificates.partitioned import read, together
from fairopt.certificates.partitions import JudgedTerms, Shown
from fairopt.criteria import ONE_SCORE
from fairopt.formulas.asked import AlphaAsked
from fairopt.instance import Floats
from fairopt.solving.partitions import work
from tests.certificates.test_partitions import in_passes
from tests.test_arrays import UNLIKE


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


def same_files(one: Path, two: Path) -> None:
    """The same names with the same bytes."""
    names = sorted(path.name for path in one.iterdir())
    assert names == sorted(path.name for path in two.iterdir())
    for name in names:
        assert (one / name).read_bytes() == (two / name).read_bytes()


@pytest.mark.parametrize("limits", [False, True])
@pytest.mark.parametrize("alpha", [0.5, 1.0, 2.0])
def test_the_answer_is_that_of_one_instance(tmp_path: Path, alpha: float, limits: bool) -> None:
    inst, notion = cluster(500, limits), fo.AlphaFair(alpha)
    fo.write_partitions(inst, tmp_path / "in", 150)
    found = fo.solve_partitions(tmp_path / "in", notion, tmp_path / "out", sample=200)
    assert found.certificate.certified and found.users == 500
    # what is proved of every share, with the digits in which capacities are full
    assert max(found.certificate.gap, found.certificate.residual) < 1e-8
    tasks = whole(found, 4)
    one = fo.solve(inst, notion, reduce=False)
    np.testing.assert_allclose(tasks.sum(axis=1), one.totals, rtol=1e-8)
    # the ordinary judge says the same of the same answer
    mu = np.concatenate([found.limit_prices(k) for k in range(4)]) if limits else None
    other = fo.certify(fo.Allocation(inst, notion, tasks, found.prices, mu))
    assert other.certified
    np.testing.assert_allclose(other.residual, found.certificate.residual, atol=1e-11)
    np.testing.assert_allclose(other.gap, found.certificate.gap, atol=1e-11)


@pytest.mark.parametrize("criterion", [name for name in ONE_SCORE if name != "tasks"])
def test_criteria_that_count_a_task_alike_on_all_servers(tmp_path: Path, criterion: str) -> None:
    """Rows of several machines, and servers that lack a resource, as of one instance."""
    base = cluster(300)
    demand, capacity = base.demand.copy(), base.capacity.copy()
    demand[::3, 1], capacity[2, 1] = 0.0, 0.0
    everywhere = np.ones_like(base.placement)
    inst = base.replace(demand=demand, capacity=capacity, count=[1, 3, 2, 1], placement=everywhere)
    notion = fo.AlphaFair(2.0, criterion=criterion)
    source = fo.write_partitions(inst, tmp_path / "in", 150)
    found = fo.solve_partitions(source, notion, tmp_path / "out")
    assert found.certificate.certified
    tasks = whole(found, 2)
    np.testing.assert_allclose(tasks.sum(axis=1), fo.solve(inst, notion).totals, rtol=1e-7)
    other = fo.certify(fo.Allocation(inst, notion, tasks, found.prices))
    assert other.certified
    np.testing.assert_allclose(other.gap, found.certificate.gap, atol=1e-11)


def test_weights_over_six_decades(tmp_path: Path) -> None:
    inst = cluster(400)
    inst = inst.replace(weight=10 ** np.random.default_rng(1).uniform(-3, 3, 400))
    source = fo.write_partitions(inst, tmp_path / "in", 150)
    found = fo.solve_partitions(source, fo.AlphaFair(2, weight_inside=True), tmp_path / "out")
    one = fo.solve(inst, fo.AlphaFair(2, weight_inside=True))
    np.testing.assert_allclose(whole(found, 3).sum(axis=1), one.totals, rtol=1e-6)


def test_workers_write_the_same_bytes(tmp_path: Path) -> None:
    fo.write_partitions(cluster(300), tmp_path / "in", 80)
    notion, calls = fo.ProportionalFair(), []
    fo.solve_partitions(
        tmp_path / "in",
        notion,
        tmp_path / "one",
        progress=lambda passes, doing: calls.append((passes, doing)),
    )
    assert calls[0] == (1, "check") and calls[-1][1] == "judge"
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:
        fo.solve_partitions(tmp_path / "in", notion, tmp_path / "two", executor)
    same_files(tmp_path / "one", tmp_path / "two")


@pytest.mark.filterwarnings("ignore")  # of Dask's own
def test_a_worker_killed_on_the_way_changes_no_byte(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed")
    fo.write_partitions(cluster(500), tmp_path / "in", 100)
    notion, killed = fo.ProportionalFair(), []
    fo.solve_partitions(tmp_path / "in", notion, tmp_path / "one")
    with (
        distributed.LocalCluster(3, threads_per_worker=1, dashboard_address=None) as workers,
        distributed.Client(workers) as client,
    ):
        first = sorted(client.run(os.getpid).values())

        def progress(passes: int, doing: str) -> None:
            if passes == 5 and not killed:
                killed.append(first[0])
                os.kill(first[0], signal.SIGKILL)

        executor = client.get_executor()
        fo.solve_partitions(tmp_path / "in", notion, tmp_path / "two", executor, progress)
        assert killed and killed[0] not in client.run(os.getpid).values()
    same_files(tmp_path / "one", tmp_path / "two")


@pytest.mark.parametrize("doing", ["prices", "answer"])
def test_a_process_killed_on_the_way_changes_no_byte(tmp_path: Path, doing: str) -> None:
    """What the pool had not computed is computed here; what was written before is not scaled
    again."""
    fo.write_partitions(cluster(300, limits=True), tmp_path / "in", 40)
    notion, killed = fo.ProportionalFair(), []
    fo.solve_partitions(tmp_path / "in", notion, tmp_path / "one")
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as executor:

        def progress(passes: int, now: str) -> None:
            if now == doing and not killed:
                killed.append(next(iter(executor._processes)))
                os.kill(killed[0], signal.SIGKILL)

        with pytest.warns(RuntimeWarning, match="a worker was killed"):
            fo.solve_partitions(tmp_path / "in", notion, tmp_path / "two", executor, progress)
    same_files(tmp_path / "one", tmp_path / "two")


def test_tasks_are_scaled_once(tmp_path: Path) -> None:
    source = fo.write_partitions(cluster(30), tmp_path, 30)
    np.save(tmp_path / "raw_tasks-00000.npy", np.ones((30, 4)))
    for _ in range(2):  # a worker that was killed after it had written does not say so
        work.fit(source, 0, tmp_path, np.full(4, 2.0), 1.0)
        assert (np.load(tmp_path / "tasks-00000.npy") == 0.5).all()
    assert not list(tmp_path.glob("raw*"))


@pytest.mark.parametrize("seconds", [1e-9, 0.2])
def test_after_a_limit_the_answer_has_its_bound(tmp_path: Path, seconds: float) -> None:
    source = fo.write_partitions(cluster(30_000), tmp_path / "in", 10_000)
    notion, out = fo.ProportionalFair(), tmp_path / "out"
    found = fo.solve_partitions(source, notion, out, uncertified="return", limit_s=seconds)
    said = fo.certify_partitions(out)
    best = fo.solve_partitions(source, notion, tmp_path / "best")
    off = np.abs(np.log(whole(found, 3).sum(axis=1) / whole(best, 3).sum(axis=1))).max()
    assert off <= said.residual * (1 + 1e-6) + 1e-6 and not said.certified
    assert found.certificate.verdict in ("unproved", "refuted")
    # the next call goes on from there, to the bytes of one that was never stopped
    fo.solve_partitions(source, notion, out)
    same_files(out, tmp_path / "best")
    with pytest.raises(fo.NotCertified):
        fo.solve_partitions(source, notion, tmp_path / "other", limit_s=1e-9)
    with pytest.raises(fo.UsageError, match="limit_s: found 0"):
        fo.solve_partitions(source, notion, out, limit_s=0)


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
    again: list[int] = []
    fo.solve_partitions(
        source,
        notion,
        tmp_path / "two",
        progress=lambda passes, _: again.append(passes),
        sample=100,
    )
    assert len(again) < one.passes > 20
    same_files(tmp_path / "one", tmp_path / "two")
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


# -- from the files alone --------------------------------------------------------------------------


def test_a_verdict_in_a_file_is_not_believed(tmp_path: Path) -> None:
    source = fo.write_partitions(cluster(200), tmp_path / "in", 120)
    found = fo.solve_partitions(source, fo.ProportionalFair(), tmp_path / "out")
    again = fo.certify_partitions(tmp_path / "out")
    assert again == found.certificate
    # moved together, or named
    (tmp_path / "in").rename(tmp_path / "elsewhere")
    assert fo.certify_partitions(tmp_path / "out", tmp_path / "elsewhere") == again
    tasks = np.load(tmp_path / "out" / "tasks-00001.npy")
    np.save(tmp_path / "out" / "tasks-00001.npy", tasks * 1.001)
    spoiled = fo.certify_partitions(tmp_path / "out", tmp_path / "elsewhere")
    assert spoiled.verdict == "refuted"
    head = (tmp_path / "out" / "answer.json").read_text()
    assert '"verdict": "certified"' in head
    other = head.replace('"proportional"', '"max-min"').replace("partitions/v1", "partitions/v2")
    (tmp_path / "out" / "answer.json").write_text(other)
    with pytest.raises(fo.BadInput, match="schema(.|\n)*notion: found max-min"):
        fo.certify_partitions(tmp_path / "out")


def test_files_of_an_answer_that_are_no_answer(tmp_path: Path) -> None:
    source = fo.write_partitions(cluster(200), tmp_path / "in", 120)
    out = tmp_path / "out"
    fo.solve_partitions(source, fo.ProportionalFair(), out)
    (out / "tasks-00001.npy").unlink()
    (out / "tasks-00000.npy").write_bytes((out / "tasks-00000.npy").read_bytes()[:500])
    np.save(out / "prices.npy", np.ones((2, 2)))
    np.save(out / "limit_prices-00001.npy", np.array(["a"] * 80))
    with pytest.raises(fo.BadInput) as caught:
        fo.certify_partitions(out)
    assert [(fault.place, fault.found.split(" (mmap")[0]) for fault in caught.value.faults] == [
        ("prices.npy", "float64 (2, 2)"),
        ("tasks-00000.npy", "no whole NumPy array"),
        ("tasks-00001.npy", "no such file"),
        ("limit_prices-00001.npy", "<U1"),
    ]
    (out / "answer.json").unlink()
    with pytest.raises(fo.BadInput, match="answer.json"):
        fo.certify_partitions(out)


# -- the judge -------------------------------------------------------------------------------------


class Judged:
    """An answer in two partitions, and its verdict after a change of it."""

    def __init__(self, folder: Path, limits: bool = False) -> None:
        self.source = fo.write_partitions(cluster(200, limits), folder / "in", 120)
        self.found = fo.solve_partitions(self.source, fo.ProportionalFair(), folder / "out")
        found = [read(self.source, k, folder / "out")[0] for k in range(2)]
        self.shown = [one for one in found if one is not None]

    def asked(
        self, shown: tuple[Shown, ...], prices: Floats | None
    ) -> tuple[list[Shown], JudgedTerms]:
        asked = AlphaAsked(1.0, False, "tasks", self.source.capacity, self.source.count)
        terms = JudgedTerms.of(asked, self.found.prices if prices is None else prices)
        return list(shown or self.shown), terms

    def verdict(self, *shown: Shown, prices: Floats | None = None) -> fo.Certificate:
        """Of all users at once, as few are judged; what is not feasible is told before."""
        given, terms = self.asked(shown, prices)
        first = judge.used(given[0], terms) + judge.used(given[1], terms)
        if not all(check.holds for check in judge.feasible(first, terms)):
            return judge.verdict(terms, first, np.inf, 0)
        return together(given, terms)

    def passes(self, *shown: Shown, prices: Floats | None = None) -> fo.Certificate:
        """Partition by partition, as very many are."""
        with np.errstate(all="ignore"):
            return in_passes(*self.asked(shown, prices))

    def with_tasks(self, tasks: Floats) -> fo.Certificate:
        return self.verdict(replace(self.shown[0], tasks=tasks), self.shown[1])


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    return Judged(tmp_path_factory.mktemp("judged"))


def test_the_judge_accepts_the_answer(judged: Judged) -> None:
    assert judged.verdict().certified


def test_in_passes_the_bound_is_what_floats_can_prove(judged: Judged) -> None:
    """Of two hundred users a row full to 1e-16 proves a share to about 1e-7: never less than what
    all at once prove, and never false."""
    found, exact = judged.passes(), judged.verdict()
    assert exact.residual <= found.residual < 1e-5
    assert found.certified == (found.residual <= 1e-6) and found.verdict != "refuted"


@pytest.mark.parametrize("part", [1e-4, 1e-5])
def test_spoiled_tasks_are_not_certified(judged: Judged, part: float) -> None:
    x = judged.shown[0].tasks
    assert judged.with_tasks(x * (1 + part)).verdict == "refuted"  # too much of everything
    less = x.copy()
    less[7] *= 1 - part  # one user is given less
    found = judged.with_tasks(less)
    assert found.verdict == "refuted" and found.undetermined == ("u8",)
    assert found.residual == pytest.approx(part, rel=1e-2)
    passed = judged.passes(replace(judged.shown[0], tasks=less), judged.shown[1])
    assert not passed.certified and passed.residual >= part
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
        assert judged.passes(replace(shown, tasks=x), judged.shown[1]).verdict == "refuted"


def test_forged_prices_are_not_believed(judged: Judged) -> None:
    """Read at once, tasks that are right are so at any prices; partition by partition only the
    prices given can prove them. Neither certifies wrong ones."""
    p = judged.found.prices
    below = np.where(np.arange(8).reshape(4, 2) == 3, -p, p)
    none = np.where(np.arange(8).reshape(4, 2) == 3, np.nan, p)
    one = p * np.array([[1.001], [1], [1], [1]])
    wrong = judged.shown[0].tasks.copy()
    wrong[7] *= 1 - 1e-4
    less = replace(judged.shown[0], tasks=wrong), judged.shown[1]
    for forged in (p * [[1.0, 1.001]], np.ones_like(p), np.zeros_like(p), one, below, none):
        assert not judged.passes(prices=forged).certified
        assert not judged.verdict(*less, prices=forged).certified
    for forged in (p * [[1.0, 1.001]], one):
        assert judged.verdict(prices=forged).certified
    # one scale of all prices is free
    assert judged.verdict(prices=p * 7).certified
    assert judged.passes(prices=p * 8).residual == pytest.approx(judged.passes().residual, rel=1e-6)


def test_a_light_user_is_seen_beside_heavy_ones(judged: Judged) -> None:
    """A user of a millionth of a millionth of the money must be right as well, or nobody is."""
    one = judged.shown[0]
    weight = one.users.weight.copy()
    weight[0] *= 1e-12
    x = one.tasks.copy()
    x[0] *= 1e-12
    light = replace(one, tasks=x, users=replace(one.users, weight=weight))
    assert not judged.verdict(light, judged.shown[1]).certified


def test_limits_need_no_price(tmp_path: Path) -> None:
    found = Judged(tmp_path, limits=True)
    assert found.verdict().certified
    one = found.shown[0]
    for mu in (one.mu * 1.01, None):
        assert found.verdict(replace(one, limit_prices=mu), found.shown[1]).certified
    at = int(np.argmax(one.tasks.sum(axis=1) >= one.users.limit * (1 - 1e-9)))
    tasks = one.tasks.copy()
    tasks[at] *= 1 - 1e-5
    for mu in (one.mu, None):
        short = replace(one, tasks=tasks, limit_prices=mu)
        assert found.verdict(short, found.shown[1]).verdict == "refuted"
        assert not found.passes(short, found.shown[1]).certified
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
        "partition 00000, user 5, demand",
        "partition 00000, user 5, demand",
        "partition 00002, user 5, weight",
    ]
    assert not (tmp_path / "out").exists()  # nothing was begun


def test_faults_of_files(tmp_path: Path) -> None:
    """Cut short, of another kind, missing between others, there twice."""
    folder = tmp_path / "in"
    fo.write_partitions(cluster(60), folder, 10)
    (folder / "demand-00000.npy").write_bytes((folder / "demand-00000.npy").read_bytes()[:200])
    np.save(folder / "weight-00001.npy", np.array(["heavy"] * 10))
    np.save(folder / "placement-00001.npy", np.full((10, 4), 0.5))
    np.save(folder / "limit-00004.npy", np.full(9, 1.0))
    np.save(folder / "weight-00005.npy", np.full(10, np.nan))
    with pytest.raises(fo.BadInput) as caught:
        fo.solve_partitions(folder, fo.ProportionalFair(), tmp_path / "out")
    said = str(caught.value)
    for line in (
        "demand-00000.npy: found no whole NumPy array",
        "weight-00001.npy: found <U5",
        "placement-00001.npy, user 1: found [0.5, 0.5, 0.5, 0.5]; wanted true or false",
        "partition 00004, limit: found shape (9,)",
        "partition 00005, user 1, weight: found nan",
    ):
        assert line in said
    (folder / "demand-00003.npy").unlink()
    (folder / "users-00002.parquet").write_bytes(b"PAR1")
    with pytest.raises(fo.BadInput) as caught:
        fo.Partitions(folder)
    assert [(fault.place, fault.found) for fault in caught.value.faults] == [
        ("partition 00002", "both"),
        ("partition 00003", "no such file"),
    ]
    np.save(folder / "count.npy", np.full(4, 1.5))
    with pytest.raises(fo.BadInput, match="count.npy"):
        fo.Partitions(folder)
    (folder / "capacity.npy").write_bytes(b"")
    with pytest.raises(fo.BadInput, match="capacity.npy: found no whole NumPy array"):
        fo.Partitions(folder)


def test_faults_of_parquet(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    np.save(tmp_path / "capacity.npy", np.ones((2, 2)))
    good = {"demand.1": [1.0, 2.0], "demand.2": [1, 1], "weight": [1.0, None]}
    tables = (
        good,
        {"demand.1": [1.0, 1.0], "wieght": [1.0, 1.0]},
        {**good, "demand.2": ["one", "two"], "placement.1": [1, 2], "placement.2": [True, False]},
        {**good, "demand.1": [1.0, None]},
    )
    for k, table in enumerate(tables):
        parquet.write_table(pa.table(table), tmp_path / f"users-{k:05d}.parquet")
    (tmp_path / "users-00004.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(fo.BadInput) as caught:
        fo.solve_partitions(tmp_path, fo.ProportionalFair(), tmp_path / "out")
    assert [(fault.place, fault.found) for fault in caught.value.faults][:5] == [
        ("users-00001.parquet, demand.2", "no such column"),
        ("users-00001.parquet, wieght", "an unknown column"),
        ("users-00002.parquet, demand.2", "string, 0 of 2 left out"),
        ("users-00002.parquet, placement.1, user 2", "2"),
        ("partition 00003, user 2, demand", "[nan, 1.0]"),
    ]
    assert caught.value.faults[5].place == "users-00004.parquet"
    assert fo.Partitions(tmp_path).read(0).weight.tolist() == [1.0, 1.0]  # left out is 1


def test_what_is_not_answered_is_refused(tmp_path: Path) -> None:
    with pytest.raises(fo.BadInput, match="capacity.npy"):
        fo.Partitions(tmp_path)
    source = fo.write_partitions(cluster(30), tmp_path / "in", 10)
    refused = {
        "notion": fo.MaxMin(),
        "alpha": fo.AlphaFair(0),
        "over": fo.AlphaFair(1, over="proportion"),
        "criterion": fo.AlphaFair(0.05, criterion="dominant-share"),
    }
    for name, notion in refused.items():
        with pytest.raises(fo.UsageError, match=f"partitions: .*{name}: found"):
            fo.solve_partitions(source, notion, tmp_path / "out")
    with pytest.raises(fo.UsageError, match="uncertified"):
        fo.solve_partitions(source, fo.ProportionalFair(), tmp_path / "out", uncertified="no")
    with pytest.raises(fo.BadInput, match="users: found 0(.|\n)*folder: found 12 files"):
        fo.write_partitions(cluster(30), tmp_path / "in", 0)


def test_an_answer_that_does_not_end_is_not_certified(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work, "MOST_ITERATIONS", 4)
    monkeypatch.setattr(work, "FEW_USERS", 0)
    source = fo.write_partitions(cluster(60), tmp_path / "in", 40)
    with pytest.raises(fo.NotCertified):
        fo.solve_partitions(source, fo.ProportionalFair(), tmp_path / "out")
    found = fo.solve_partitions(
        source, fo.ProportionalFair(), tmp_path / "out", uncertified="return"
    )
    assert not found.certificate.certified


@pytest.mark.parametrize("name", ["limit-00001", "weight-00001", "placement-00001", "count"])
@pytest.mark.parametrize("kind", ["dangling link", "pipe", "device", "folder"])
def test_what_is_there_is_not_taken_as_left_out(tmp_path: Path, name: str, kind: str) -> None:
    """A limit that cannot be read is a fault: without it the question would be another."""
    fo.write_partitions(cluster(30, limits=True), tmp_path / "in", 10)
    path = tmp_path / "in" / f"{name}.npy"
    path.unlink()
    make, found = UNLIKE[kind]
    make(path)
    with pytest.raises(fo.BadInput) as caught:
        fo.solve_partitions(tmp_path / "in", fo.ProportionalFair(), tmp_path / "out")
    assert [(one.place, one.found) for one in caught.value.faults] == [(path.name, found)]


@pytest.mark.every(4)
@pytest.mark.parametrize("name", ["tasks", "limit_prices"])
@pytest.mark.parametrize("kind", UNLIKE)
def test_nor_is_a_part_of_an_answer(tmp_path: Path, name: str, kind: str) -> None:
    source = fo.write_partitions(cluster(30, limits=True), tmp_path / "in", 10)
    fo.solve_partitions(source, fo.ProportionalFair(), tmp_path / "out")
    path = tmp_path / "out" / f"{name}-00001.npy"
    path.unlink()
    make, found = UNLIKE[kind]
    make(path)
    with pytest.raises(fo.BadInput) as caught:
        fo.certify_partitions(tmp_path / "out")
    assert caught.value.faults[0].place == path.name
    assert caught.value.faults[0].found.startswith(found)


def test_arrays_of_other_shapes(tmp_path: Path) -> None:
    fo.write_partitions(cluster(30, limits=True), tmp_path / "in", 10)
    for name, array in (
        ("demand-00000", np.float64(1)),
        ("placement-00001", np.zeros((0, 4))),
        ("limit-00002", np.float64(2)),
    ):
        np.save(tmp_path / "in" / f"{name}.npy", array)
    with pytest.raises(fo.BadInput) as caught:
        fo.solve_partitions(tmp_path / "in", fo.ProportionalFair(), tmp_path / "out")
    assert [(one.place, one.found) for one in caught.value.faults] == [
        ("demand-00000.npy", "a single number"),
        ("partition 00001, placement", "shape (0, 4)"),
        ("limit-00002.npy", "a single number"),
    ]
    for count in (np.nan, np.inf, 0.0, 1.5, 1e300):
        np.save(tmp_path / "in" / "count.npy", np.full(4, count))
        with pytest.raises(fo.BadInput, match="count.npy: found other numbers"):
            fo.Partitions(tmp_path / "in")


def test_an_answer_where_a_file_is(tmp_path: Path) -> None:
    source = fo.write_partitions(cluster(30), tmp_path / "in", 10)
    (tmp_path / "out").write_text("mine")
    with pytest.raises(fo.UsageError, match="out is a file; wanted the name of a folder"):
        fo.solve_partitions(source, fo.ProportionalFair(), tmp_path / "out")
    with pytest.raises(fo.UsageError, match="out is a file; wanted the name of a folder"):
        fo.write_partitions(cluster(30), tmp_path / "out", 10)
    assert (tmp_path / "out").read_text() == "mine"
    (tmp_path / "there").mkdir()
    os.mkfifo(tmp_path / "there" / "state.npz")  # not waited for
    fo.solve_partitions(source, fo.ProportionalFair(), tmp_path / "there")


@pytest.mark.parametrize("kind", ["steep, with limits", "six decades", "nothing of a resource"])
def test_few_users_are_solved_as_one_instance_where_the_path_does_not_end(
    tmp_path: Path, kind: str
) -> None:
    alpha = {"steep, with limits": 20.0, "six decades": 0.5, "nothing of a resource": 0.5}[kind]
    users, steep = 9 if alpha == 20 else 60, alpha == 20
    inst, rng = cluster(users, steep, seed=1 if steep else 2), np.random.default_rng(2)
    if kind == "nothing of a resource":
        demand = inst.demand.copy()
        demand[rng.random(60) < 0.4, 0] = 0
        inst = inst.replace(demand=demand)
    if alpha < 1:
        inst = inst.replace(weight=10 ** rng.uniform(-3, 3, 60))
    source = fo.write_partitions(inst, tmp_path / "in", users // 3)
    found = fo.solve_partitions(source, fo.AlphaFair(alpha), tmp_path / "out")
    assert found.certificate.certified and fo.certify_partitions(tmp_path / "out").certified
    totals = whole(found, 3).sum(axis=1)
    assert totals == pytest.approx(fo.solve(inst, fo.AlphaFair(alpha)).totals, rel=1e-6)
    used = np.concatenate([source.read(k).demand for k in range(3)]).T @ whole(found, 3)
    assert (inst.pool * (1 + 1e-9) >= used.T).all()
