"""Workers of sweeps: an interruption never stops a submission half-way."""

import os
import signal
import threading
import time

import pytest

from fairopt.commands import sweep_workers

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_is_raised_when_the_call_is_done(number: signal.Signals) -> None:
    before = signal.signal(number, signal.default_int_handler)
    done = []
    try:
        with pytest.raises(KeyboardInterrupt), sweep_workers._interrupted_after():
            os.kill(os.getpid(), number)
            for step in range(1_000):  # the handler runs between two of these
                done.append(step)
        assert len(done) == 1_000
        assert signal.getsignal(number) is signal.default_int_handler
    finally:
        signal.signal(number, before)


def test_what_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with sweep_workers._interrupted_after():
            os.kill(os.getpid(), signal.SIGINT)
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_pool_interrupted_while_it_is_given_work_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal that comes inside `submit` is raised after it, and the work is there."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    given = []
    try:
        with pytest.raises(KeyboardInterrupt), sweep_workers._processes(1) as pool:
            put = pool._work_ids.put  # type: ignore[attr-defined]

            def interrupted(item: int) -> None:
                os.kill(os.getpid(), signal.SIGTERM)
                put(item)
                given.append(item)

            monkeypatch.setattr(pool._work_ids, "put", interrupted)  # type: ignore[attr-defined]
            pool.submit(int)
        assert given == [1]  # work 0 started the workers
    finally:
        signal.signal(signal.SIGTERM, before)


def test_what_a_caller_cancels_is_not_failed_once_more_when_workers_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A caller cancels all that waits, then the workers end: no thread ends by an exception."""
    ended: list[object] = []
    monkeypatch.setattr(threading, "excepthook", ended.append)
    with pytest.raises(KeyboardInterrupt), sweep_workers._processes(1) as pool:
        first = pool.submit(os.getpid).result(timeout=60)
        waiting = [pool.submit(time.sleep, 60) for _ in range(8)]
        time.sleep(0.2)  # some are with the worker then, and the others wait in the pool
        assert all(future.cancel() for future in waiting)
        os.kill(first, signal.SIGKILL)
        manager = pool._executor_manager_thread  # type: ignore[attr-defined]
        manager.join(timeout=60)
        assert not manager.is_alive()
        raise KeyboardInterrupt
    assert not ended
