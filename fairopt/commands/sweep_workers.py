"""Where `fairopt sweep` solves: in this process, in local processes or on a Dask cluster."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from types import FrameType
from typing import Any

from fairopt.errors import MissingExtra, UsageError


def check(jobs: int, dask: str | None) -> None:
    """Before anything is solved, refuse options that cannot work."""
    if dask is None:
        return
    if jobs > 1:
        raise UsageError("-j and --dask exclude each other: the cluster has its own workers")
    if find_spec("distributed") is None:
        raise MissingExtra("--dask needs distributed: pip install 'fairopt[dask]'")


@contextmanager
def executor(jobs: int, dask: str | None, points: int) -> Iterator[Executor | None]:
    """The executor asked for; None means this process. After Ctrl-C no work is waited for."""
    if dask is not None:
        with _dask(dask) as found:
            yield found
    elif min(jobs, points) > 1:
        with _processes(min(jobs, points)) as found:
            yield found
    else:
        yield None


class _Pool(ProcessPoolExecutor):
    """A pool that no interruption finds in the middle of a submission, nor its tasks cancelled.

    The first would leave a lock taken that a thread of the pool needs to end, and Python waits for
    that thread at its own end: the interrupted command would never end. The second would end that
    thread by an exception when a worker is ended too, up to Python 3.11. So callers get a future
    of their own to cancel, and the pool's is cancelled by the pool alone.
    """

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        given: Future[Any] = Future()
        with _interrupted_after():
            super().submit(fn, *args, **kwargs).add_done_callback(partial(_pass_on, given))
        return given


def _pass_on(given: Future[Any], done: Future[Any]) -> None:
    """Give the result of the pool's future, or its error, to the caller's."""
    if done.cancelled():
        given.cancel()
    if not given.set_running_or_notify_cancel():
        return
    error = done.exception()
    if error is None:
        given.set_result(done.result())
    else:
        given.set_exception(error)


@contextmanager
def _interrupted_after() -> Iterator[None]:
    """SIGINT and SIGTERM that come inside are raised, as KeyboardInterrupt, at the end."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def later(number: int, _: FrameType | None) -> None:
        came.append(number)

    before: dict[signal.Signals, Any] = {}
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(number)
            if callable(handler):  # what is ignored, or ends the process, stays so
                before[number] = handler
                signal.signal(number, later)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if came:
        raise KeyboardInterrupt


@contextmanager
def _processes(workers: int) -> Iterator[Executor]:
    # spawn: a fork would copy locks held by threads that the solvers have started
    pool = _Pool(
        workers, mp_context=multiprocessing.get_context("spawn"), initializer=_end_with_parent
    )
    # Ctrl-C reaches every process of the terminal, but only this one should report it. Processes
    # inherit ignored signals, so it is ignored while they are started.
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        pool.submit(int)  # spawned workers all start with the first task
    finally:
        signal.signal(signal.SIGINT, before)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for process in multiprocessing.active_children():
            process.terminate()
        raise
    pool.shutdown()


def _end_with_parent() -> None:
    """In a worker: end when the parent process is killed, which a pool does not do by itself."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _dask(address: str) -> Iterator[Executor]:
    from distributed import Client

    try:
        client = Client(address)
    except (OSError, ValueError, TypeError) as error:
        said = " ".join(str(error).split())
        raise UsageError(f"--dask: found no scheduler at {address!r} ({said})") from None
    with client:
        yield client.get_executor()
