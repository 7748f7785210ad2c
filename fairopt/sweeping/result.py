"""The result of a sweep: rows as plain data, and methods to tabulate, filter and save them."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fairopt import markup, measures, storage
from fairopt.allocation.writing import instance_plain
from fairopt.errors import MissingExtra, UsageError
from fairopt.instance import Instance
from fairopt.storage import encoded

if TYPE_CHECKING:
    from pandas import DataFrame

    from fairopt.allocation import Allocation

SCHEMA = "fairopt/sweep/v1"
FORMATS = (".csv", ".json", ".parquet")
_SINGLE = ("status", "verdict", "certified", "gap", "residual", "objective", "equivalent")
_BY_USER = {"totals": "total", "shares": "share", "levels": "level"}


@dataclass(frozen=True, repr=False)
class Sweep:
    """The rows of a sweep, in input order.

    Parameters
    ----------
    rows : plain data, with keys `index`; `parameters` (the swept values); `notion` {"name",
        "parameters"}; `status` "answered", "refused" (the notion does not take the instance),
        "infeasible", "failed" (no solver found an answer) or "error" (anything else);
        `verdict`, `certified`, `gap`, `residual` of the certificate; `objective`, `equivalent`;
        `totals`, `shares`, `levels` {user: number}; `measures` {name: number or None}; `reason`
        ("" where answered). Where answers were kept, "instance" is the position of the point's
        instance, and "answer" its tasks and prices as in a file.
    instances : the different instances of the points, if answers were kept.

    Examples
    --------
    >>> import fairopt as fo
    >>> inst = fo.Instance([[1, 4], [3, 1]], [[9, 18]])
    >>> found = fo.sweep(inst, [fo.AlphaFair(a) for a in (1, 2)])
    >>> len(found.rows)
    2
    """

    rows: tuple[dict[str, Any], ...]
    instances: tuple[Instance, ...] = ()

    @cached_property
    def swept(self) -> tuple[str, ...]:
        """Names of the parameters that vary; all names if none varies."""
        names = dict.fromkeys(name for row in self.rows for name in row["parameters"])
        varying = tuple(
            name for name in names if len({repr(r["parameters"].get(name)) for r in self.rows}) > 1
        )
        return varying or tuple(names)

    @property
    def certified(self) -> bool:
        """Whether every row is answered and certified."""
        return all(row["certified"] for row in self.rows)

    def answer(self, k: int) -> Allocation:
        """The answer of row k, judged again, if the sweep kept its answers.

        Raises
        ------
        UsageError : the sweep was made without `answers`, or the row has no answer.
        """
        row = self.rows[k]
        if "answer" not in row:
            raise UsageError(f"answer: found none in row {k}; wanted a sweep with answers=True")
        from fairopt.certificates import certify
        from fairopt.files import answers

        plain = {**row["answer"], "notion": row["notion"]}
        found = answers.of(self.instances[row["instance"]], plain, f"row {k}")
        return found.with_(certificate=certify(found))

    def frontier(
        self, x: str, y: str, lowest: Sequence[str] | None = None
    ) -> list[Mapping[str, Any]]:
        """The certified rows that are Pareto points of two measures, sorted by x and then y.

        Parameters
        ----------
        x, y : names of measures, such as "efficiency" and "sqrt_var_f".
        lowest : which of x and y are better when lower; default by `fairopt.measures.MEASURES`.

        Raises
        ------
        UsageError : an unknown name, or a measure for which neither end is better.
        """
        rows = [row for row in self.rows if row["certified"]]
        return measures.frontier(rows, x, y, lowest)

    def flat(self) -> list[dict[str, Any]]:
        """The rows with one column per number: parameters, verdict, measures, level.USER, ...

        Every row has every column; None where the row has no such number.
        """
        wide = [_flat(row) for row in self.rows]
        # failed rows lack measures and users, so columns are collected group by group
        names = [
            dict.fromkeys(key for groups in wide for key in groups[k])
            for k in range(len(wide[0]) if wide else 0)
        ]
        return [
            {key: group.get(key) for group, keys in zip(groups, names, strict=True) for key in keys}
            for groups in wide
        ]

    def to_frame(self) -> DataFrame:
        """`flat` as a pandas DataFrame (extra `frame`)."""
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingExtra("to_frame needs pandas: pip install 'fairopt[frame]'") from error
        return pd.DataFrame(self.flat())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the rows to NAME.csv, NAME.json or NAME.parquet, whole or not at all.

        Raises
        ------
        UsageError : another ending, or a file that cannot be written.
        MissingExtra : Parquet without pandas and pyarrow (extra `frame`).
        """
        ending = form_of(path)
        if ending == ".csv":
            storage.write_text(path, self.to_csv())
        elif ending == ".json":
            storage.write_text(path, self.to_json())
        else:
            storage.write_bytes(path, self._parquet())

    def to_csv(self) -> str:
        """`flat` as CSV text; numbers are written with all their digits."""
        out = io.StringIO()
        flat = self.flat()
        writer = csv.writer(out, lineterminator="\n")
        if flat:
            writer.writerow(flat[0])
            writer.writerows([_cell(value) for value in row.values()] for row in flat)
        return out.getvalue()

    def to_json(self) -> str:
        """The rows as one JSON object, one row per line; infinities are the texts inf and -inf."""
        head = f'{{"schema": "{SCHEMA}", "swept": {encoded(self.swept)}, '
        if self.instances:
            plain = ",\n".join(encoded(instance_plain(each)) for each in self.instances)
            head += f'"instances": [\n{plain}\n], '
        head += '"rows": ['
        return (
            head
            + "".join(("\n" if k == 0 else ",\n") + encoded(row) for k, row in enumerate(self.rows))
            + "\n]}\n"
        )

    def _parquet(self) -> bytes:
        need_parquet()
        frame = self.to_frame()
        for name in frame.columns:
            kinds = {type(value) for value in frame[name] if value is not None}
            if len(kinds) > 1 and not kinds <= {int, float}:
                frame[name] = frame[name].map(lambda v: None if v is None else str(v))
        out = io.BytesIO()
        frame.to_parquet(out, engine="pyarrow", index=False)
        return out.getvalue()

    def __len__(self) -> int:
        return len(self.rows)

    def _repr_html_(self) -> str:
        names = list(dict.fromkeys(name for row in self.rows for name in row["measures"]))[:6]
        rows = (
            [
                k,
                *(row["parameters"].get(name) for name in self.swept),
                row["notion"]["name"],
                *(row["measures"].get(name) for name in names),
                row["verdict"] or row["status"],
            ]
            for k, row in enumerate(self.rows)
        )
        head = ["point", *self.swept, "notion", *names, "certificate"]
        return markup.block(markup.table(repr(self), head, rows, len(self.rows)))

    def __repr__(self) -> str:
        count = sum(row["certified"] for row in self.rows)
        over = f" over {', '.join(self.swept)}" if self.swept else ""
        return f"Sweep({len(self.rows)} points{over}, {count} certified)"


def form_of(path: str | os.PathLike[str]) -> str:
    """The ending of the path, which gives the format of the file.

    Raises
    ------
    UsageError : it is not one of FORMATS.
    """
    ending = Path(os.fspath(path)).suffix.lower()
    if ending not in FORMATS:
        raise UsageError(
            f"output: found {os.fspath(path)!r}; wanted a name ending in {', '.join(FORMATS)}"
        )
    return ending


def need_parquet() -> None:
    """Raise MissingExtra unless Parquet can be written."""
    for name in ("pandas", "pyarrow"):
        if find_spec(name) is None:
            raise MissingExtra(f"Parquet needs {name}: pip install 'fairopt[frame]'")


def _flat(row: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The columns of one row, in groups that stay together."""
    by_user = [
        {f"{word}.{user}": value for user, value in row[key].items()}
        for key, word in _BY_USER.items()
    ]
    return [
        {"index": row["index"]},
        row["parameters"],
        {"notion": row["notion"]["name"]},
        {key: row[key] for key in _SINGLE},
        row["measures"],
        *by_user,
        {"reason": row["reason"]},
    ]


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if isinstance(value, float) else value
