"""Sweeps: rows in order, failures as rows, the same digits whoever solves, frames and files."""

from __future__ import annotations

import csv
import io
import json
import multiprocessing
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import numpy as np
import pytest

import fairopt as fo
from fairopt import fast, sweeping, threads
from fairopt.errors import BadInput, MissingExtra, UsageError
from fairopt.measures import measure
from fairopt.sweeping import Sweep, points, run, worker
from tests.sweep_cases import alphas, own_scores, three_users


@pytest.fixture(scope="module")
def inst() -> fo.Instance:
    return three_users()


@pytest.fixture(scope="module")
def serial(inst: fo.Instance) -> Sweep:
    return fo.sweep(inst, alphas(0.5, 1, 2, 3, 4))


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as found:
        yield found


# -- rows -------------------------------------------------------------------------------------


def test_rows_are_what_solve_says(inst: fo.Instance, serial: Sweep) -> None:
    best = worker.best_throughput(inst, inst.digest())
    assert best == pytest.approx(fo.solve(inst, fo.Throughput()).totals.sum(), rel=1e-12)
    for k, (alpha, row) in enumerate(zip((0.5, 1, 2, 3, 4), serial.rows, strict=True)):
        answer = fo.solve(inst, fo.AlphaFair(alpha, "dominant-share"))
        assert (row["index"], row["notion"]) == (k, answer.notion)
        assert row["parameters"]["alpha"] == alpha
        assert (row["status"], row["verdict"], row["reason"]) == ("answered", "certified", "")
        assert list(row["totals"].items()) == list(
            zip(inst.users, answer.totals.tolist(), strict=True)
        )
        assert list(row["shares"].values()) == answer.shares.tolist()
        assert list(row["levels"].values()) == answer.levels.tolist()
        assert row["objective"] == answer.objective and row["equivalent"] == answer.equivalent
        assert row["gap"] == answer.certificate.gap
        assert row["residual"] == answer.certificate.residual
        assert row["measures"] == measure(answer, best)
        assert 0 <= row["measures"]["price_of_fairness"] < 1


def test_any_iterable_of_notions_and_pairs(inst: fo.Instance) -> None:
    other = inst.replace(weight=[2.0, 1.0, 1.0])
    notion = fo.ProportionalFair()
    found = fo.sweep(inst, iter([notion, (other, notion)]), measures=False)
    one, two = (row["totals"]["n1"] for row in found.rows)
    assert one == fo.solve(inst, notion).totals[0] and two == fo.solve(other, notion).totals[0]
    assert two > one
    assert found.rows[0]["measures"] == {}


def test_a_failed_point_is_a_row_with_its_reason(
    inst: fo.Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise ZeroDivisionError("no such luck")

    found = fo.sweep(inst, [fo.BottleneckMaxFair(), fo.ProportionalFair()])
    assert [row["status"] for row in found.rows] == ["refused", "answered"]
    assert "one pool" in found.rows[0]["reason"]
    assert not found.certified and found.rows[1]["certified"]
    # whatever engine is asked first
    monkeypatch.setattr(fo.solving.answering, "reduced", broken)
    bad = fo.sweep(inst, [fo.ProportionalFair()]).rows[0]
    assert (bad["status"], bad["certified"], bad["totals"]) == ("error", False, {})
    assert bad["reason"] == "internal error: ZeroDivisionError: no such luck"


def test_uncertified_answers_are_rows_that_say_so(inst: fo.Instance) -> None:
    row = fo.sweep(inst, [fo.ProportionalFair()], solver="scs", polish=False, gap=1e-15).rows[0]
    assert row["status"] == "answered" and not row["certified"]
    assert row["totals"]["n1"] > 0 and max(row["gap"], row["residual"]) > 1e-15


def test_what_is_no_point_is_refused_at_once(inst: fo.Instance) -> None:
    wanted = r"notions\[1\]: found the text 'bmf'(.|\n)*notions\[3\]: found 3;"
    with pytest.raises(BadInput, match=wanted):
        fo.sweep(inst, [fo.ProportionalFair(), "bmf", fo.ProportionalFair(), 3])
    with pytest.raises(BadInput, match="without an instance"):
        fo.sweep(None, [fo.ProportionalFair()])
    with pytest.raises(BadInput, match="parameters: found 1"):
        fo.sweep(inst, alphas(1, 2), parameters=[{"alpha": 1}])
    with pytest.raises(UsageError, match="solver: found 'gurobi'"):
        fo.sweep(inst, alphas(1), solver="gurobi")
    with pytest.raises(UsageError, match="tolerance"):
        fo.sweep(inst, alphas(1), gap=1.5)


def test_nothing_to_do_is_no_error(inst: fo.Instance) -> None:
    found = fo.sweep(inst, [])
    assert found.rows == () and found.certified and found.to_csv() == ""
    assert json.loads(found.to_json())["rows"] == []


def test_equal_points_are_solved_once(inst: fo.Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    real = worker.row_of
    monkeypatch.setattr(worker, "row_of", lambda *asked: seen.append(asked) or real(*asked))
    twin = inst.replace()
    found = fo.sweep(inst, [*alphas(1, 2, 1), (twin, alphas(2)[0])])
    assert len(seen) == 2
    assert [row["index"] for row in found.rows] == [0, 1, 2, 3]
    assert found.rows[0]["totals"] == found.rows[2]["totals"]
    assert found.rows[1]["totals"] == found.rows[3]["totals"]


def test_progress_counts_every_point(inst: fo.Instance) -> None:
    told: list[tuple[int, int]] = []
    fo.sweep(inst, alphas(1, 2, 1), progress=lambda done, of: told.append((done, of)))
    assert told == [(0, 3), (2, 3), (3, 3)]


# -- whoever solves ---------------------------------------------------------------------------


def same_bytes(a: Sweep, b: Sweep) -> bool:
    return a.to_csv() == b.to_csv() and a.to_json() == b.to_json()


def test_processes_give_the_same_bytes(
    inst: fo.Instance, serial: Sweep, pool: ProcessPoolExecutor
) -> None:
    told: list[int] = []
    found = fo.sweep(inst, alphas(0.5, 1, 2, 3, 4), pool, progress=lambda k, _: told.append(k))
    assert same_bytes(found, serial)
    assert told == [0, 1, 2, 3, 4, 5]


def test_the_order_of_points_changes_no_digit(
    inst: fo.Instance, serial: Sweep, pool: ProcessPoolExecutor
) -> None:
    found = fo.sweep(inst, alphas(4, 3, 2, 1, 0.5), pool)
    for row, other in zip(reversed(found.rows), serial.rows, strict=True):
        assert {**row, "index": 0} == {**other, "index": 0}


def test_threads_give_the_same_bytes(inst: fo.Instance, serial: Sweep) -> None:
    with ThreadPoolExecutor(2) as executor:
        assert same_bytes(fo.sweep(inst, alphas(0.5, 1, 2, 3, 4), executor), serial)


def _many_from(count: int) -> None:
    fast.MANY_ANSWERS = count


def test_many_points_are_compiled_wherever_they_are_solved(
    inst: fo.Instance, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole sweep decides: here, in processes, and where some points are done already."""
    pytest.importorskip("numba")
    monkeypatch.setattr(fast, "MANY_ANSWERS", many := 300)
    notions, path = alphas(*np.linspace(0.5, 3, many)), tmp_path / "points.jsonl"
    found = fo.sweep(inst, notions, resume=path)
    with ProcessPoolExecutor(2, initializer=_many_from, initargs=(many,)) as pool:
        assert fo.sweep(inst, notions, pool).rows == found.rows
    kept = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join(kept[:200]) + "\n", encoding="utf-8")
    assert fo.sweep(inst, notions, resume=path).rows == found.rows
    # of fewer points each is another, to rounding, and known under another key
    few = fo.sweep(inst, notions[:3], resume=path).rows
    assert len(path.read_text(encoding="utf-8").splitlines()) == len(kept) + 3
    monkeypatch.setenv(fast.CHOICE, "1")
    assert fo.sweep(inst, notions[:3]).rows == found.rows[:3]
    for one, other in zip(few, found.rows, strict=False):
        assert one["shares"] == pytest.approx(other["shares"], rel=1e-11)


def test_a_dask_cluster_gives_the_same_bytes(inst: fo.Instance, serial: Sweep) -> None:
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=True, dashboard_address=None
    )
    with cluster, distributed.Client(cluster) as client:
        found = fo.sweep(inst, alphas(0.5, 1, 2, 3, 4), client.get_executor())
    assert same_bytes(found, serial)


def test_workers_get_each_instance_once_a_chunk(inst: fo.Instance) -> None:
    other = inst.replace(weight=[2.0, 1.0, 1.0])
    asked = points.points_of(inst, [*alphas(1, 2), (other, alphas(1)[0])], None, {})
    chunk = run._SweepRun(asked, {}, True, None, None).chunk([0, 1, 2])
    assert len(chunk.instances) == 2
    assert [where for where, _ in chunk.orders] == [0, 0, 1]
    assert all(isinstance(order, dict) for _, order in chunk.orders)


class Flaky(Executor):
    """Runs tasks at once, but loses the first chunk of several points, or breaks."""

    def __init__(self, breaks: bool) -> None:
        self.breaks, self.sizes = breaks, []
        self._max_workers = 1

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        if self.breaks and self.sizes:
            raise BrokenProcessPool("a worker died")
        future: Future[Any] = Future()
        size = len(args[0].orders)
        if size > 1 and not any(s > 1 for s in self.sizes):
            future.set_exception(OSError("the line went down"))
        else:
            future.set_result(fn(*args, **kwargs))
        self.sizes.append(size)
        return future


def test_a_lost_chunk_is_tried_again_point_by_point(
    inst: fo.Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "SECONDS", 1e3)  # large chunks, however slow the machine is
    flaky = Flaky(breaks=False)
    wanted = alphas(*np.linspace(1, 2, 12))
    found = fo.sweep(inst, wanted, flaky, measures=False)
    assert found.certified and any(size > 1 for size in flaky.sizes)
    assert same_bytes(found, fo.sweep(inst, wanted, measures=False))


def test_a_broken_executor_leaves_rows_with_the_reason(inst: fo.Instance) -> None:
    found = fo.sweep(inst, alphas(1, 2, 3), Flaky(breaks=True))
    assert [row["status"] for row in found.rows] == ["answered", "error", "error"]
    assert found.rows[2]["reason"] == "executor: BrokenProcessPool: a worker died"


def test_what_cannot_be_sent_is_a_row_with_the_reason(
    inst: fo.Instance, pool: ProcessPoolExecutor
) -> None:
    unsendable = fo.AlphaFair(1, lambda instance: np.where(instance.eligible, 1.0, 0.0))
    found = fo.sweep(inst, [unsendable, *alphas(1), fo.AlphaFair(2, own_scores)], pool)
    assert [row["status"] for row in found.rows] == ["error", "answered", "answered"]
    assert "pickle" in found.rows[0]["reason"]


def test_a_worker_with_other_versions_is_refused(inst: fo.Instance) -> None:
    order = points.native(fo.ProportionalFair().plain())
    others = {**points.versions(), "clarabel": "0.0"}
    chunk = worker.Chunk([inst], [inst.digest()], [(0, order)], {}, True, False, others)
    with pytest.raises(UsageError, match=r"other versions; wanted clarabel 0\.0"):
        worker.solve_chunk(chunk)


def test_one_blas_thread_until_the_last_has_left() -> None:
    from threadpoolctl import threadpool_info, threadpool_limits

    def most() -> int:
        return max(each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas")

    entered, leave = threading.Event(), threading.Event()

    def first() -> None:
        with threads.one():
            entered.set()
            leave.wait(10)

    with threadpool_limits(2):
        assert most() == 2
        other = threading.Thread(target=first)
        other.start()
        assert entered.wait(10)
        with threads.one(), threads.one():
            leave.set()
            other.join()
            assert most() == 1
        assert most() == 2


# -- tables and files -------------------------------------------------------------------------


def test_the_frontier_holds_certified_rows_only(serial: Sweep) -> None:
    best = serial.frontier("efficiency", "min_level")
    assert 1 < len(best) <= 5
    values = [(r["measures"]["efficiency"], r["measures"]["min_level"]) for r in best]
    assert values == sorted(values) and values[::-1] == sorted(values, key=lambda v: v[1])
    spoiled = Sweep(tuple({**row, "certified": False} for row in serial.rows))
    assert spoiled.frontier("efficiency", "min_level") == []


def test_csv_has_every_number_with_all_its_digits(serial: Sweep) -> None:
    rows = list(csv.DictReader(io.StringIO(serial.to_csv())))
    assert [float(row["alpha"]) for row in rows] == [0.5, 1, 2, 3, 4]
    for text, row in zip(rows, serial.rows, strict=True):
        assert float(text["share.n2"]) == row["shares"]["n2"]
        assert float(text["level.n3"]) == row["levels"]["n3"]
        assert float(text["total.n1"]) == row["totals"]["n1"]
        assert float(text["utilisation.r1"]) == row["measures"]["utilisation.r1"]
        assert text["certified"] == "true" and text["verdict"] == "certified"


def test_json_holds_the_rows(serial: Sweep) -> None:
    plain = json.loads(serial.to_json())
    assert plain["schema"] == "fairopt/sweep/v1" and plain["swept"] == ["alpha"]
    assert plain["rows"] == list(serial.rows)


def test_rows_without_an_answer_have_the_same_columns(inst: fo.Instance) -> None:
    found = fo.sweep(inst, [fo.BottleneckMaxFair(), fo.ProportionalFair()])
    flat = found.flat()
    assert list(flat[0]) == list(flat[1])
    assert flat[0]["share.n1"] is None and flat[1]["share.n1"] > 0
    assert list(flat[0])[-1] == "reason"
    assert "," in found.to_csv().splitlines()[1]


def test_frame_and_parquet(serial: Sweep, inst: fo.Instance, tmp_path: Any) -> None:
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = serial.to_frame()
    assert list(frame["alpha"]) == [0.5, 1, 2, 3, 4] and frame["certified"].all()
    serial.save(tmp_path / "a.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "a.parquet"), frame)
    mixed = fo.sweep(inst, alphas(1, 2), parameters=[{"g": "log"}, {"g": 2.0}])
    mixed.save(tmp_path / "b.parquet")
    assert list(pd.read_parquet(tmp_path / "b.parquet")["g"]) == ["log", "2.0"]


def test_save_by_ending(serial: Sweep, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    serial.save(tmp_path / "a.csv")
    serial.save(tmp_path / "a.json")
    assert (tmp_path / "a.csv").read_text() == serial.to_csv()
    assert (tmp_path / "a.json").read_text() == serial.to_json()
    with pytest.raises(UsageError, match=r"\.csv, \.json, \.parquet"):
        serial.save(tmp_path / "a.xlsx")
    monkeypatch.setattr(sweeping.result, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"fairopt\[frame\]"):
        serial.save(tmp_path / "a.parquet")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.csv", "a.json"]


def test_repr_says_what_and_how_many(serial: Sweep) -> None:
    assert repr(serial) == "Sweep(5 points over alpha, 5 certified)"
    assert len(serial) == 5
