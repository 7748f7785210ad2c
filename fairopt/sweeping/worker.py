"""The work of a worker: solve, judge and measure the points of one chunk."""

from __future__ import annotations

import json
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from fairopt import fast, threads
from fairopt.allocation import Allocation
from fairopt.allocation.writing import proof
from fairopt.errors import BadInput, FairoptError, Infeasible, MissingExtra, UsageError
from fairopt.instance import Instance
from fairopt.storage import encoded
from fairopt.sweeping.points import rebuilt, versions

REMEMBERED = 4
"""number of instances whose largest efficiency a worker remembers; chunks rarely have more"""
_best: OrderedDict[str, float | None] = OrderedDict()


class Chunk(NamedTuple):
    """Points to be solved by one worker; an instance of several points is sent once.

    Parameters
    ----------
    instances, digests : the instances of the points, and their digests.
    orders : for each point the position of its instance, and its notion (plain data).
    settings : solver, gap, polish, as in `solve`.
    measures : whether to compute measures.
    kept : whether rows have their answers under "answer", for a resume file.
    versions : those of the sending process, which the worker's must equal.
    points : of the whole sweep, by which it is decided whether loops are compiled.
    """

    instances: Sequence[Instance]
    digests: Sequence[str]
    orders: Sequence[tuple[int, Any]]
    settings: Mapping[str, Any]
    measures: bool
    kept: bool
    versions: Mapping[str, str]
    points: int = 1


def solve_chunk(chunk: Chunk) -> tuple[list[dict[str, Any]], float]:
    """The rows of a chunk, and the seconds they took.

    Raises
    ------
    UsageError : this worker has other versions than the sending process: digits would differ.
    """
    if chunk.versions != versions():
        here = versions()
        other = [
            f"{k} {v} (here {here.get(k)})" for k, v in chunk.versions.items() if here.get(k) != v
        ]
        raise UsageError(f"executor: a worker has other versions; wanted {', '.join(other)}")
    start = time.perf_counter()
    with threads.one(), fast.answers(chunk.points):
        rows = [
            row_of(
                chunk.instances[where],
                order,
                chunk.settings,
                chunk.digests[where] if chunk.measures else None,
                chunk.kept,
            )
            for where, order in chunk.orders
        ]
    return rows, time.perf_counter() - start


def row_of(
    instance: Instance,
    order: Any,
    settings: Mapping[str, Any],
    digest: str | None,
    kept: bool = False,
) -> dict[str, Any]:
    """The row of one point, solved, judged and measured; an error becomes the row's reason.

    Without a digest of the instance there are no measures. With `kept` the row has its answer, as
    plain data that can be judged again, under "answer".
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
    except Exception as error:  # an error in one point must not stop the others
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
    """The row of an answer from a resume file, judged and measured as if just solved.

    Raises
    ------
    BadInput : what was kept is not an answer for this instance and notion.
    """
    from fairopt.certificates import certify
    from fairopt.files import answers

    with threads.one():
        answer = answers.of(instance, {**dict(kept), "notion": notion}, "answer")
        answer = answer.with_(certificate=certify(answer))
        return _answered(answer, float(settings["gap"]), digest)


def empty(status: str, reason: str) -> dict[str, Any]:
    """The row of a point without an answer."""
    return {
        "status": status,
        "verdict": None,
        "certified": False,
        "gap": None,
        "residual": None,
        "objective": None,
        "equivalent": None,
        "totals": {},
        "shares": {},
        "levels": {},
        "measures": {},
        "reason": reason,
    }


def best_throughput(instance: Instance, key: str) -> float | None:
    """The largest efficiency, solved once per worker and digest; None if that fails."""
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


def differing(row: Mapping[str, Any], kept: Any) -> list[str]:
    """Keys whose values in the kept row differ from those computed from its answer."""
    if not isinstance(kept, Mapping):
        return ["row"]
    keys = dict.fromkeys([*row, *map(str, kept)])
    return [
        key
        for key in keys
        if key not in row or key not in kept or json.loads(encoded(row[key])) != kept[key]
    ]
