"""What a worker does: solve, judge and measure the points of one chunk, whatever happens."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fairopt import threads
from fairopt.allocation import Allocation
from fairopt.errors import BadInput, FairoptError, Infeasible, MissingExtra, UsageError
from fairopt.instance import Instance
from fairopt.results import proof
from fairopt.sweeping.points import rebuilt, versions

REMEMBERED = 4
"""instances whose largest efficiency a worker keeps; a chunk rarely holds more"""
_best: OrderedDict[str, float | None] = OrderedDict()


class Chunk(NamedTuple):
    """Points to be solved together: each instance once, however many points it has.

    Parameters
    ----------
    instances, digests : those of the points.
    orders : for each point the position of its instance, and its notion (plain data).
    settings : solver, gap, polish, as of `solve`.
    measures : whether to measure.
    kept : whether rows carry their answers, "answer", for a resume file.
    versions : those of whoever asks, which the worker's own must equal.
    """

    instances: Sequence[Instance]
    digests: Sequence[str]
    orders: Sequence[tuple[int, Any]]
    settings: Mapping[str, Any]
    measures: bool
    kept: bool
    versions: Mapping[str, str]


def solve_chunk(chunk: Chunk) -> tuple[list[dict[str, Any]], float]:
    """The rows of a chunk, and the seconds they took.

    Raises
    ------
    UsageError : this worker runs other versions than whoever asks: digits would differ.
    """
    if chunk.versions != versions():
        here = versions()
        other = [f"{k} {v} (here {here.get(k)})" for k, v in chunk.versions.items()
                 if here.get(k) != v]  # fmt: skip
        raise UsageError(f"executor: a worker has other versions; wanted {', '.join(other)}")
    start = time.perf_counter()
    with threads.one():
        rows = [
            row_of(
                chunk.instances[where], order, chunk.settings,
                chunk.digests[where] if chunk.measures else None, chunk.kept,
            )
            for where, order in chunk.orders
        ]  # fmt: skip
    return rows, time.perf_counter() - start


def row_of(
    instance: Instance,
    order: Any,
    settings: Mapping[str, Any],
    digest: str | None,
    kept: bool = False,
) -> dict[str, Any]:
    """One point, solved, judged and measured; what goes wrong becomes the row's reason.

    Without the digest of the instance nothing is measured. With `kept` the row has what a judge
    needs, as "answer".
    """
    from fairopt.solving import solve

    try:
        notion = rebuilt(order) if isinstance(order, Mapping) else order
        answer = solve(instance, notion, uncertified="return", **settings)
        row = _answered(answer, float(settings["gap"]), digest)
        return {**row, "answer": proof(answer)} if kept else row
    except MissingExtra as error:
        return empty("error", str(error))
    except (BadInput, UsageError) as error:
        return empty("refused", str(error))
    except Infeasible as error:
        return empty("infeasible", str(error))
    except FairoptError as error:
        return empty("failed", str(error))
    except Exception as error:  # one point must not cost the others
        said = " ".join(str(error).split()) or "no message"
        return empty("error", f"internal error: {type(error).__name__}: {said}")


def _answered(answer: Allocation, gap: float, digest: str | None) -> dict[str, Any]:
    found, users = answer.certificate, answer.instance.users
    assert found is not None
    row: dict[str, Any] = {
        "status": "answered",
        "verdict": found.verdict,
        "certified": bool(found.certified and max(found.gap, found.residual) <= gap),
        "gap": float(found.gap),
        "residual": float(found.residual),
        "objective": None if answer.objective is None else float(answer.objective),
        "equivalent": None if answer.equivalent is None else float(answer.equivalent),
        "totals": dict(zip(users, answer.totals.tolist(), strict=True)),
        "shares": dict(zip(users, answer.shares.tolist(), strict=True)),
        "levels": dict(zip(users, answer.levels.tolist(), strict=True)),
        "measures": {},
        "reason": "",
    }
    if digest is not None:
        from fairopt.measures import measure

        row["measures"] = measure(answer, best_throughput(answer.instance, digest))
    return row


def judged(
    instance: Instance,
    notion: Mapping[str, Any],
    settings: Mapping[str, Any],
    digest: str | None,
    kept: Any,
) -> dict[str, Any]:
    """The row of an answer that was kept: judged and measured as if it had just been solved.

    Raises
    ------
    BadInput : what was kept is no answer to the question.
    """
    from fairopt import answers
    from fairopt.certificates import certify

    with threads.one():
        answer = answers.of(instance, {**dict(kept), "notion": notion}, "answer")
        answer = answer.with_(certificate=certify(answer))
        return _answered(answer, float(settings["gap"]), digest)


def empty(status: str, reason: str) -> dict[str, Any]:
    """The row of a point without an answer."""
    return {
        "status": status, "verdict": None, "certified": False, "gap": None, "residual": None,
        "objective": None, "equivalent": None, "totals": {}, "shares": {}, "levels": {},
        "measures": {}, "reason": reason,
    }  # fmt: skip


def best_throughput(instance: Instance, key: str) -> float | None:
    """The largest efficiency, solved once a worker for each digest; None if that fails."""
    from fairopt.measures import efficiency
    from fairopt.notions import Throughput
    from fairopt.solving import solve

    if key not in _best:
        try:
            _best[key] = efficiency(solve(instance, Throughput()))
        except FairoptError:
            _best[key] = None
        while len(_best) > REMEMBERED:
            _best.popitem(last=False)
    return _best[key]
