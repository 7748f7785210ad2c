"""The options of the kinds of `fairopt simulate`, one table: a kind names those that it takes."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import click

from fairopt.commands import output, work

Command = Callable[..., int]
Option = Callable[[Command], Command]


def whole(*names: str, says: str, default: int | None = None, least: int = 1) -> Option:
    """An option that is a whole number, at least `least`; its default is shown if it has one."""
    shown: dict[str, Any] = {} if default is None else {"default": default, "show_default": True}
    return click.option(*names, type=click.IntRange(min=least), metavar="N", help=says, **shown)


def number(name: str, default: float, says: str) -> Option:
    """An option that is any number; its default is shown."""
    return click.option(name, type=float, default=default, show_default=True, help=says)


OPTIONS: dict[str, Option] = {
    "load": click.option(
        "--load",
        "loads",
        multiple=True,
        type=float,
        metavar="L",
        help="L = max_j sum_k rho_k a_kj, above 0 and below 1; default the "
        "model's [dynamics]. May be repeated.",
    ),
    "edge": number(
        "--edge", 1e-8, "The box grows until a class is at its edge with at most this chance."
    ),
    "flow": number(
        "--flow", 1e-8, "What goes out is what comes in, to this part of it; at most 1e-6."
    ),
    "states": whole(
        "--states",
        "most",
        says="Most states of a box, 250 bytes each; default 8,000,000.",
        least=2,
    ),
    "replications": whole(
        "--replications", says="Independent runs; intervals are Student's over them.", default=10
    ),
    "seed": click.option(
        "--seed",
        type=click.IntRange(min=0),
        default=0,
        show_default=True,
        help="Seed of all that is random; the same seed gives the same bytes.",
    ),
    "jobs": work.jobs,
    "resume": work.resume,
    "plot": click.option(
        "--plot",
        "picture",
        metavar="FILE",
        callback=output.early,
        help="Draw into FILE (.png, .pdf or .svg).",
    ),
    "json": output.as_json,
    "out": output.out,
}
LEFT = ("plot", "json", "out")
"""where every kind leaves its result"""
DRAWN = ("replications", "seed", "jobs", "resume", *LEFT)
"""of what is drawn, run after run"""
COMPUTED = ("edge", "flow", "states", "jobs", "resume", *LEFT)
"""of what is computed from a law, and not drawn"""


class Run(NamedTuple):
    """What the options say that kinds share; each kind takes some of them.

    Parameters
    ----------
    picture : the file to draw into. as_json : print JSON. path : the file for JSON.
    jobs : local processes. resume : the file that keeps what is done.
    replications, seed : of what is drawn. edge, flow, most : of what is computed.
    """

    picture: str | None
    as_json: bool
    path: str | None
    jobs: int = 1
    resume: str | None = None
    replications: int = 0
    seed: int = 0
    edge: float = 0.0
    flow: float = 0.0
    most: int | None = None


def taking(*names: str) -> Option:
    """A decorator: the command takes these rows of OPTIONS, in this order, as one `run`."""

    def decorate(function: Command) -> Command:
        @functools.wraps(function)
        def command(**given: Any) -> int:
            shared = {name: given.pop(name) for name in Run._fields if name in given}
            return function(run=Run(**shared), **given)

        decorated: Command = command
        for name in reversed(names):
            decorated = OPTIONS[name](decorated)
        return decorated

    return decorate


def loads_and_rules(rules: str) -> Option:
    """--load and --rule; `rules` says which a kind knows."""

    def decorate(function: Command) -> Command:
        rule = click.option(
            "--rule", "rules", multiple=True, metavar="NAME", help=f"{rules} May be repeated."
        )
        return OPTIONS["load"](rule(function))

    return decorate
