"""fairopt simulate servers: each server keeps PS-DSF by itself while users leave and return."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from fairopt import files
from fairopt.commands import simulate_loads as common
from fairopt.commands import simulate_options as asks
from fairopt.errors import BadInput, Fault

if TYPE_CHECKING:
    from fairopt.dynamics.servers import OverTime, Phase

BESIDE = {"tsf": "TSF", "drf": "C-DRFH", "cdrf": "CDRF"}
"""criteria of max-min recomputed exactly, and what they are called in khamse2016"""
SHOWN = 12
"""most states shown of each phase, the time between two changes of the users"""


def times(context: click.Context, option: click.Parameter, value: tuple[str, ...]) -> Any:
    """{user: (leaves, returns)} of USER=LEAVES:RETURNS, each."""
    found = {}
    for given in value:
        user, _, both = given.rpartition("=")
        leaves, _, returns = both.partition(":")
        if not (user and leaves.isdecimal() and returns.isdecimal()):
            raise click.BadParameter(f"found {given!r}; wanted USER=LEAVES:RETURNS, n4=10:20")
        found[user] = (int(leaves), int(returns))
    return found


@click.command("servers", context_settings={"max_content_width": 100})
@click.argument("model")
@click.option(
    "--away",
    multiple=True,
    callback=times,
    metavar="USER=LEAVES:RETURNS",
    help="When a user is away, in rounds; default as in the model's [dynamics].",
)
@click.option(
    "--rounds", type=int, metavar="T", help="Number of rounds; default the model's horizon, or 30."
)
@click.option(
    "--order",
    type=click.Choice(["in-turn", "at-once", "random"]),
    default="in-turn",
    show_default=True,
    help="The order in which servers act within a round.",
)
@click.option(
    "--delay",
    type=int,
    default=0,
    show_default=True,
    metavar="D",
    help="A server knows the others as of up to D rounds ago, drawn every time it acts.",
)
@click.option(
    "--damping",
    type=float,
    default=0.0,
    show_default=True,
    metavar="PART",
    help="The part of each step towards the refilled state that is left out.",
)
@click.option("--resource", metavar="NAME", help="The resource shown; default the first.")
@asks.taking("seed", *asks.LEFT)
def command(
    model: str,
    away: dict[str, tuple[int, int]],
    rounds: int | None,
    order: str,
    delay: int,
    damping: float,
    resource: str | None,
    run: asks.Run,
) -> int:
    """Let every server of MODEL keep PS-DSF by itself while users leave and return.

    For comparison, TSF, C-DRFH and CDRF are recomputed exactly whenever a user leaves or returns. A
    phase (the time between two such changes) that does not settle is reported, and is no error.
    --plot draws the use over time.
    """
    from fairopt.dynamics.servers import by_themselves
    from fairopt.instance.reading import nearest
    from fairopt.notions import MaxMin
    from fairopt.report import plot_simulated

    problem = files.read(model)
    inst = problem.instance
    if resource is not None and resource not in inst.resources:
        raise BadInput([Fault("resource", repr(resource), nearest(resource, inst.resources))])
    if run.picture is not None:
        plot_simulated.check_servers(run.picture, inst)
    given: dict[str, Any] = {
        "rounds": int(problem.dynamics.get("horizon", 30)) if rounds is None else rounds,
        "away": away or problem.dynamics.get("away", {}),
        "order": order,
        "delay": delay,
        "damping": damping,
        "seed": run.seed,
    }
    found = by_themselves(inst, **given)
    beside = {name: found.exactly(MaxMin(criterion)) for criterion, name in BESIDE.items()}
    r = 0 if resource is None else inst.resources.index(resource)
    if run.picture is not None:
        plot_simulated.servers(
            found,
            {name: [a.utilisation for a in own] for name, own in beside.items()},
            r,
            run.picture,
        )
    table = _text(found, beside, problem.title or problem.name, r)
    common.leave(_plain(found, beside, problem.name, given), table, run)
    return 0


def _plain(run: OverTime, beside: Any, model: str, given: dict[str, Any]) -> dict[str, Any]:
    from fairopt.commands.simulate import SCHEMA

    inst = run.instance
    phases = [
        {
            "begin": p.begin,
            "end": p.end,
            "away": list(p.away),
            "settled": p.settled,
            "period": p.period,
            "verdict": p.certificate.verdict,
            "gap": p.certificate.gap,
            "beside": {
                name: {
                    "totals": dict(
                        zip(found[k].instance.users, found[k].totals.tolist(), strict=True)
                    ),
                    "used": found[k].utilisation.tolist(),
                }
                for name, found in beside.items()
            },
        }
        for k, p in enumerate(run.phases)
    ]
    return {
        "schema": SCHEMA,
        "kind": "servers",
        "model": model,
        **given,
        "users": inst.users,
        "servers": inst.servers,
        "resources": inst.resources,
        "totals": run.totals.tolist(),
        "used": run.used.tolist(),
        "phases": phases,
    }


def _text(run: OverTime, beside: Any, title: str, r: int) -> str:
    """The rounds in which tasks change, the last round, and the outcome of every phase."""
    from fairopt.filling.compared import text

    inst = run.instance
    users, servers = inst.users[:6], inst.servers[:6]
    head = ["round", *(f"tasks {name}" for name in users), *(f"on {name}" for name in servers)]
    lines, told = [], []
    for k, phase in enumerate(run.phases):
        last = phase.end - 1 if phase.settled is None else phase.settled
        first = range(phase.begin, min(last, phase.begin + SHOWN - 1) + 1)
        for t in dict.fromkeys([*first, phase.end - 1]):
            lines.append(
                [
                    str(t),
                    *(f"{x:.5g}" for x in run.totals[t, : len(users)]),
                    *(f"{u:.5f}" for u in run.used[t, : len(servers), r]),
                ]
            )
        told.append(_became(phase))
        told += [
            f"  {name}: "
            + ", ".join(
                f"{server} {u:.4f}"
                for server, u in zip(servers, found[k].utilisation[: len(servers), r], strict=True)
            )
            for name, found in beside.items()
        ]
    what = f"Use of {inst.resources[r]}, each server keeping PS-DSF by itself"
    return "\n".join([title, what, "", text(head, lines, "terminal"), "", *told])


def _became(phase: Phase) -> str:
    who = f"without {', '.join(phase.away)}" if phase.away else "everybody there"
    where = f"rounds {phase.begin} to {phase.end - 1}, {who}: "
    if phase.settled is not None:
        taken = phase.settled - max(phase.begin - 1, 0)
        plural = "" if taken == 1 else "s"
        return f"{where}settled after {taken} round{plural}, {phase.certificate.verdict} as PS-DSF"
    if phase.period is not None and phase.period > 1:
        return f"{where}never settled, the same {phase.period} states again and again"
    return f"{where}not settled by its end"
