"""What becomes of each workload, in one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from fairopt.connect.plan.packing import whole_part

SATISFIED, BLOCKED, FRAGMENTED, STUCK = "satisfied", "blocked", "fragmented", "stuck"
_MOST_NAMES = 2


class Status(NamedTuple):
    """A word for programs and a sentence for people."""

    word: str
    says: str


class Block(NamedTuple):
    """A full resource of a shape that stops a user; price of one more unit, None if unknown."""

    shape: str
    resource: str
    price: float | None


def status(
    asked: float | None,
    due: float,
    whole: int,
    blocks: Iterable[Block],
    quotas: Sequence[str] = (),
    gang: int = 1,
    proved: bool = False,
) -> Status:
    """The status of a user with a place to run.

    Parameters
    ----------
    asked : tasks it holds and waits for; None for any number.
    due, whole : tasks of the fluid answer, and those placed whole.
    blocks : what stops it. quotas : the quotas that do, in words.
    gang : tasks that run together or not at all.
    proved : whether no placement of whole tasks is nearer to what everybody is due.
    """
    if asked is not None and whole >= int(asked):
        return Status(SATISFIED, f"satisfied: all {whole} tasks have a place")
    of = "" if asked is None else f" of {asked:g} asked"
    of += "" if gang == 1 else f" in gangs of {gang}"
    fewer = whole < whole_part(due) // gang * gang
    if fewer and proved:
        said = f"due {due:.6g}{of}, {whole} placed whole on single nodes"
        return Status(FRAGMENTED, f"enough in total but fragmented: {said}")
    open_ = "; whether more fit whole is not proved (--whole)" if fewer else ""
    # prices that are equal but for rounding do not decide the order
    stops = sorted(blocks, key=lambda b: (-round(b.price or 0.0, 6), b.shape, b.resource))
    if not stops and not quotas:
        word = FRAGMENTED if fewer else BLOCKED
        return Status(word, f"due {due:.6g}{of}; {whole} whole tasks{open_}")
    by: dict[str, list[str]] = {}
    for block in stops:
        by.setdefault(block.resource, []).append(block.shape)
    full = [f"{resource} on {_few(shapes)}" for resource, shapes in by.items()]
    words = " and ".join([*quotas, *full])
    return Status(BLOCKED, f"blocked by {words}: due {due:.6g}{of}, {whole} whole{open_}")


def stuck(why: str) -> Status:
    """The status of a workload that can run nowhere."""
    return Status(STUCK, why)


def _few(names: list[str]) -> str:
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more
