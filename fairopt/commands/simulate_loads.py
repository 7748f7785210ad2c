"""Common parts of `simulate tasks` and `simulate packets`: run, tables and JSON."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from fairopt import files, storage
from fairopt.commands import output
from fairopt.commands.simulate_options import Run
from fairopt.commands.work import at_work
from fairopt.errors import UsageError

if TYPE_CHECKING:
    from fairopt.dynamics.replications import Estimate
    from fairopt.dynamics.runs import Runs


def setting(problem: files.Model, name: str, given: Any, usual: Any) -> Any:
    """The value of an option; if not given that of the model's [dynamics], else the default."""
    return problem.dynamics.get(name, usual) if given is None else given


def loads_of(problem: files.Model, given: Sequence[float]) -> list[float]:
    """The loads asked for.

    Raises
    ------
    UsageError : neither the option nor the model gives any.
    """
    found = list(dict.fromkeys(given or problem.dynamics.get("loads", ())))
    if not found:
        raise UsageError("load: found none; wanted --load L, or loads in the model's [dynamics]")
    return found


def carried_out(work: Callable[..., Any], number: int, run: Run, what: str) -> Any:
    """The result of work(executor=, resume=, progress=), `number` runs long.

    Raises
    ------
    Interrupted : Ctrl-C.
    """
    with at_work(what, "runs", number, run.jobs, resume=run.resume) as (executor, told):
        return work(executor=executor, resume=run.resume, progress=told)


def out(runs: Runs, problem: files.Model, kind: str, run: Run) -> int:
    """Write the picture and the file, and print the table or JSON."""
    if run.picture is not None:
        from fairopt.report import plot_simulated

        plot_simulated.intervals(runs, run.picture)
    leave(plain(runs, problem.name, kind), shown(runs, problem.title or problem.name), run)
    return 0


def leave(data: dict[str, Any], table: str, run: Run) -> None:
    """Write the data to the file, and print them as JSON or the table."""
    dump = storage.encoded(data)
    if run.path is not None:
        storage.write_text(run.path, dump + "\n")
    output.to_stdout(dump if run.as_json else table)


def plain(runs: Runs, model: str, kind: str) -> dict[str, Any]:
    """The JSON object: every row, and the paired differences of every two rules."""
    from fairopt.commands.simulate import SCHEMA

    rows = [
        {
            "load": row.load,
            "rule": row.rule,
            "rho": row.rho,
            "measured": row.measured,
            "gamma": {user: list(e) for user, e in row.gamma.items()},
            "use": {name: list(e) for name, e in row.use.items()},
            "runs": list(row.records),
        }
        for row in runs.rows
    ]
    apart = [
        {"load": load, "of": second, "less": first, "gamma": {u: list(e) for u, e in each.items()}}
        for load, first, second, each in differences(runs)
    ]
    return {
        "schema": SCHEMA,
        "kind": kind,
        "model": model,
        "work": runs.work,
        "interval": "95%, Student's t over replications",
        **runs.settings,
        "rows": rows,
        "differences": apart,
    }


def differences(runs: Runs) -> list[tuple[float, str, str, dict[str, Estimate]]]:
    """(load, first rule, second rule, {class: second - first}) for every two rules of a load."""
    found = []
    for load in dict.fromkeys(row.load for row in runs.rows):
        rules = [row.rule for row in runs.rows if row.load == load]
        for k, second in enumerate(rules):
            for first in rules[:k]:
                users = runs.row(load, first).gamma
                each = {user: runs.difference(load, second, first, user) for user in users}
                found.append((load, first, second, each))
    return found


def shown(runs: Runs, title: str) -> str:
    """Two tables: mean service rates, and the rules compared by paired differences."""
    from fairopt.filling.compared import text

    users, resources = list(runs.rows[0].gamma), list(runs.rows[0].use)
    head = [
        "load",
        "rule",
        *(f"gamma {user}" for user in users),
        *(f"{name} used" for name in resources),
        "measured",
    ]
    lines = [
        [
            f"{row.load:g}",
            row.rule,
            *(interval(row.gamma[user]) for user in users),
            *(f"{row.use[name].mean:.4f}" for name in resources),
            str(row.measured),
        ]
        for row in runs.rows
    ]
    told = [
        title,
        "mean service rates, 95% intervals over replications",
        "",
        text(head, lines, "terminal"),
    ]
    pairs = [
        [
            f"{load:g}",
            f"{second} - {first}",
            *(f"{interval(each[user])} {verdict(each[user])}" for user in users),
        ]
        for load, first, second, each in differences(runs)
    ]
    if pairs:
        head = ["load", "rules", *(f"gamma {user}" for user in users)]
        told += ["", "paired differences (the same arrivals)", "", text(head, pairs, "terminal")]
    return "\n".join(told)


def interval(estimate: Estimate) -> str:
    """A mean with its interval."""
    return f"{estimate.mean:.4f} [{estimate.low:.4f}, {estimate.high:.4f}]"


def verdict(difference: Estimate) -> str:
    """The verdict of an interval of differences: more, less, or undecided."""
    return "more" if difference.low > 0 else "less" if difference.high < 0 else "?"
