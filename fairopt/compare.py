"""Every notion and every scheduler on one instance, side by side."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fairopt import markup
from fairopt.allocation import Allocation
from fairopt.certificates import certify
from fairopt.errors import BadInput, FairoptError, Infeasible, MissingExtra, UsageError
from fairopt.instance import Instance
from fairopt.properties import PROPERTIES

if TYPE_CHECKING:
    from pandas import DataFrame


_SMALL = 100
"""most pairs of user and server for which the most whole tasks are looked for"""


class Comparison(list[dict[str, Any]]):
    """The rows of a comparison: a list of plain data that notebooks show as a table."""

    def to_frame(self) -> DataFrame:
        """A pandas frame, one row each: tasks of each user, numbers, a column for each property.

        Raises
        ------
        MissingExtra : without pandas.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingExtra("to_frame needs pandas: pip install 'fairopt[frame]'") from error
        flat = [
            {
                "name": named(row),
                "status": row["status"],
                "verdict": row.get("verdict"),
                **{key: row.get(key) for key in ("efficiency", "least", "most")},
                **{f"tasks.{user}": tasks for user, tasks in row.get("totals", {}).items()},
                **{name: check["holds"] for name, check in row.get("properties", {}).items()},
            }
            for row in self
        ]
        return pd.DataFrame(flat).set_index("name")

    def _repr_html_(self) -> str:
        rows = (
            [
                named(row),
                row.get("efficiency", "-"),
                row.get("least", "-"),
                row.get("most", "-"),
                ", ".join(row.get("fails", ())) or "-",
                row.get("verdict") or row["status"],
            ]
            for row in self
        )
        head = [
            "notion or scheduler",
            "efficiency",
            "least level",
            "most level",
            "fails",
            "certificate",
        ]
        return markup.block(markup.table("Comparison", head, rows, len(self)))


def named(row: dict[str, Any]) -> str:
    """The name of a row with its parameters."""
    values = ", ".join(
        f"{v:g}" if isinstance(v, float) else str(v) for v in row["parameters"].values()
    )
    return f"{row['name']} ({values})" if values else str(row["name"])


def rows(
    instance: Instance, seed: int = 0, progress: Callable[[int, int], None] | None = None
) -> Comparison:
    """One row per notion of NOTIONS, then one per scheduler of SCHEDULERS, as plain data.

    Parameters
    ----------
    instance : the cluster.
    seed : of the schedulers' random draws; each scheduler runs once.
    progress : called with (rows done, of).

    Returns
    -------
    Comparison, a list of dict : `name`, `parameters`, `status`. Status "answered" comes with
        `totals` {user: tasks}, `efficiency` sum phi_n x_n, `utilisation` {resource: used / capacity
        of all servers}, `least` and `most` of the levels x_n / (phi_n sum_i gamma[n,i]) (one scale
        for all rows, whatever the notion's own criterion), `fails` (names of properties),
        `properties` {name: {holds, residual, witness}}, `verdict`, `gap`, `residual`; of schedulers
        `below_most`, the tasks that they place less than any packing may hold, as is proved, where
        the cluster is small enough to look at. Status
        "refused" (the notion does not take this instance) and "failed" (no answer) come with
        `reason`.

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt import compare
    >>> found = compare.rows(fo.Instance([[1, 4], [3, 1]], [[9, 18]]))
    >>> sorted(found[0])[:4]
    ['efficiency', 'fails', 'gap', 'least']
    """
    from fairopt.filling import SCHEDULERS, fill
    from fairopt.notions import NOTIONS, make
    from fairopt.solving import solve

    instance.only_linear("compare")
    table = Comparison()
    many = len(SCHEDULERS) + sum(len(notion.compared) for notion in NOTIONS.values())
    told = progress or (lambda done, of: None)
    for name, notion in NOTIONS.items():
        for parameters in notion.compared:
            told(len(table), many)
            row = {"name": name, "parameters": parameters}
            try:
                answer = solve(instance, make(name, **parameters), uncertified="return")
            except (BadInput, UsageError, Infeasible) as error:
                table.append({**row, "status": "refused", "reason": str(error)})
            except FairoptError as error:
                table.append({**row, "status": "failed", "reason": str(error)})
            else:
                table.append({**row, **judged(answer)})
    most = _most(instance)
    for name in SCHEDULERS:
        told(len(table), many)
        row = {"name": f"fill:{name}"}
        try:
            answer = fill(instance, name, seed=seed)
        except (BadInput, UsageError) as error:
            table.append({**row, "parameters": {}, "status": "refused", "reason": str(error)})
            continue
        selection = {"selection": answer.notion["parameters"]["selection"]}
        more = {} if most is None else {"below_most": most - round(float(answer.totals.sum()))}
        table.append({**row, "parameters": selection, **judged(answer), **more})
    return table


def _most(instance: Instance) -> int | None:
    """No packing holds more whole tasks than this; None for clusters too large to look at here."""
    from fairopt.filling import optimum

    if len(instance.pairs[0]) > _SMALL:
        return None
    try:
        return int(optimum(instance).bound)
    except UsageError:  # rules that are no limits, of which packings know nothing
        return None


def judged(answer: Allocation) -> dict[str, Any]:
    """The columns of `rows` for one answer."""
    inst = answer.instance
    certificate = answer.certificate or certify(answer)
    used, there = answer.used.sum(axis=0), inst.pool.sum(axis=0)
    # one scale for all notions: tasks relative to what the user could run alone, by weight
    level = answer.outputs / inst.alone.sum(axis=1) / inst.weight
    checks = {name: judge(answer) for name, judge in PROPERTIES.items()}
    return {
        "status": "answered",
        "totals": dict(zip(inst.users, answer.totals.tolist(), strict=True)),
        "efficiency": float(inst.weight @ answer.outputs),
        "utilisation": {
            name: float(used[r] / there[r]) if there[r] > 0 else 0.0
            for r, name in enumerate(inst.resources)
        },
        "least": float(level.min()),
        "most": float(level.max()),
        "fails": [name for name, check in checks.items() if not check.holds],
        "properties": {
            name: {"holds": check.holds, "residual": check.residual, "witness": check.witness}
            for name, check in checks.items()
        },
        "verdict": certificate.verdict,
        "gap": certificate.gap,
        "residual": certificate.residual,
    }


def accepted(row: dict[str, Any]) -> bool:
    """Whether a row is certified, or its notion does not take this instance."""
    return bool(row["status"] == "refused" or row.get("verdict") == "certified")
