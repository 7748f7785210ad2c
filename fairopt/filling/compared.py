"""All schedulers side by side, with the fluid notions and the integer optimum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from fairopt.errors import UsageError
from fairopt.filling.optimum import optimum
from fairopt.filling.trials import Trials, run_trials
from fairopt.formulas.schedulers import SCHEDULERS, find
from fairopt.instance import Instance


def rows(
    instance: Instance,
    trials: int = 200,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> list[dict[str, Any]]:
    """One row per scheduler, then the integer optimum: name, selection, tasks by user, total, sd.

    Deterministic schedulers are run once; one that cannot fill this cluster says why in "error".
    The fluid notions are added by the command line, as this package does not import the solvers.
    """
    table: list[dict[str, Any]] = []
    for name in SCHEDULERS:
        if progress is not None:
            progress(len(table), len(SCHEDULERS))
        _, selection = find(name, None)
        runs = trials if selection in ("random-server", "rrr") else 1
        try:
            stats = run_trials(instance, name, trials=runs, seed=seed)
        except UsageError as error:
            table.append(
                {
                    "name": f"fill:{name}",
                    "selection": "refused",
                    "trials": 0,
                    "tasks": None,
                    "total": None,
                    "sd": None,
                    "error": str(error),
                }
            )
            continue
        table.append(
            {
                "name": f"fill:{name}",
                "selection": selection,
                "trials": runs,
                "tasks": dict(zip(instance.users, stats.mean.sum(axis=1).tolist(), strict=True)),
                "total": stats.total,
                "sd": stats.total_sd,
            }
        )
    best = optimum(instance)
    table.append(
        {
            "name": "integer optimum",
            "selection": "" if best.proved else "not proved",
            "trials": 1,
            "total": best.total,
            "sd": 0.0,
            "bound": best.bound,
            "tasks": dict(zip(instance.users, best.allocation.totals.tolist(), strict=True)),
        }
    )
    for row in table:  # of random schedulers, of their mean
        row["gap"] = None if row["total"] is None else best.bound - row["total"]
    return table


Rows = list[dict[str, Any]]


def statistics(instance: Instance, stats: Trials) -> tuple[Rows, Rows]:
    """Plain rows of the tasks by user and server, and of the unused capacity."""
    low, high = stats.interval
    tasks = [
        {
            "user": user,
            "server": server,
            "mean": float(stats.mean[n, i]),
            "sd": float(stats.sd[n, i]),
            "low": float(low[n, i]),
            "high": float(high[n, i]),
        }
        for n, user in enumerate(instance.users)
        for i, server in enumerate(instance.servers)
        if instance.eligible[n, i]
    ]
    low, high = stats.unused_interval
    unused = [
        {
            "server": server,
            "resource": resource,
            "mean": float(stats.unused[i, r]),
            "sd": float(stats.unused_sd[i, r]),
            "low": float(low[i, r]),
            "high": float(high[i, r]),
        }
        for i, server in enumerate(instance.servers)
        for r, resource in enumerate(instance.resources)
    ]
    return tasks, unused


def text(head: Sequence[str], lines: Sequence[Sequence[str]], form: str) -> str:
    """A table as terminal, markdown, latex or csv text."""
    if form == "csv":
        import csv
        import io

        out = io.StringIO()
        csv.writer(out, lineterminator="\n").writerows([head, *lines])
        return out.getvalue()
    if form == "markdown":
        bars = [["---"] * len(head)]
        return "\n".join("| " + " | ".join(row) + " |" for row in [list(head), *bars, *lines])
    if form == "latex":
        body = [" & ".join(_tex(cell) for cell in row) + r" \\" for row in [head, *lines]]
        begin = rf"\begin{{tabular}}{{l{'r' * (len(head) - 1)}}}"
        return "\n".join([begin, body[0], r"\hline", *body[1:], r"\end{tabular}"])
    width = [max(len(row[k]) for row in [head, *lines]) for k in range(len(head))]
    return "\n".join(
        "  ".join(
            cell.ljust(w) if k == 0 else cell.rjust(w)
            for k, (cell, w) in enumerate(zip(row, width, strict=True))
        ).rstrip()
        for row in [head, *lines]
    )


def _tex(cell: str) -> str:
    cell = cell.replace("\\", r"\textbackslash ")
    for mark in "&%$#_{}":
        cell = cell.replace(mark, "\\" + mark)
    return cell
