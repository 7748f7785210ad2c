"""The neutral format: columns of users, rows of capacity, one notion; and its text."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

SCHEMA = "fairbench/v1"
Floats = np.ndarray


class Cannot(Exception):
    """An entrant's word that it cannot state a problem, and why: counted so, not as a failure."""


@dataclass(frozen=True)
class Problem:
    """Shares s_n = sum of share_k x_k over the columns k of user n; rows use x <= capacity, x >= 0.

    Parameters
    ----------
    name, family, title, source, licence : words; not part of the digest.
    alpha : > 0: maximise sum weight_n s_n^(1-alpha)/(1-alpha); 1: sum weight_n log s_n.
        inf: lexicographic max-min of s_n / weight_n.
    weight : (N,) > 0. limit : (N,) most tasks of a user in all its columns, inf for none.
    pool : (I, R) what each server has.
    user, server : (K,) of each column; a pair may have several columns (ways, paths).
    demand : (K, R) what one task of the column takes there. share : (K,) > 0, share of a task.
    rules : further rows (most, columns, times): sum of times x over the columns is at most `most`.
    """

    name: str
    family: str
    title: str
    source: str
    licence: str
    alpha: float
    weight: Floats
    limit: Floats
    pool: Floats
    user: Floats
    server: Floats
    demand: Floats
    share: Floats
    rules: tuple[tuple[float, tuple[int, ...], tuple[float, ...]], ...] = field(default=())

    @property
    def users(self) -> int:
        return len(self.weight)

    @cached_property
    def rows(self) -> tuple[csr_array, Floats]:
        """The matrix (M, K) and the capacities (M,) of all rows.

        Rows are: each resource of each server that any column there takes (server by server), each
        finite limit (user by user), each rule. Every row has something to share out.
        """
        lines: list[tuple[Floats, Floats, float]] = []
        for i, have in enumerate(self.pool):
            here = np.flatnonzero(self.server == i)
            for r, most in enumerate(have):
                some = here[self.demand[here, r] > 0]
                if len(some):
                    lines.append((some, self.demand[some, r], float(most)))
        for n in np.flatnonzero(np.isfinite(self.limit)):
            mine = np.flatnonzero(self.user == n)
            lines.append((mine, np.ones(len(mine)), float(self.limit[n])))
        for most, columns, times in self.rules:
            lines.append((np.array(columns, int), np.array(times), most))
        at = np.concatenate([[0], np.cumsum([len(line[0]) for line in lines])])
        data = np.concatenate([line[1] for line in lines])
        index = np.concatenate([line[0] for line in lines])
        shape = (len(lines), len(self.user))
        return csr_array((data, index, at), shape=shape), np.array([line[2] for line in lines])

    @cached_property
    def of_user(self) -> csr_array:
        """(N, K): shares of a task of each column."""
        place = (self.user, np.arange(len(self.user)))
        return csr_array((self.share, place), shape=(self.users, len(self.user)))

    def shares(self, tasks: Floats) -> Floats:
        """(N,) from tasks (K,)."""
        return self.of_user @ tasks

    def overrun(self, tasks: Floats) -> float:
        """Largest part by which a row is overrun, or by which tasks are negative."""
        use, have = self.rows
        over = float(np.max((use @ np.maximum(tasks, 0.0)) / have - 1.0, initial=0.0))
        return max(over, float(np.max(-tasks / self.alone, initial=0.0)))

    @cached_property
    def alone(self) -> Floats:
        """(K,) most tasks of each column with everybody else at nothing."""
        use, have = self.rows
        entries = use.tocoo()
        found = np.full(len(self.user), np.inf)
        np.minimum.at(found, entries.col, have[entries.row] / entries.data)
        return found

    def fitted(self, tasks: Floats) -> Floats:
        """Tasks cut to fit: negative ones to 0, then every column by its most overrun row."""
        use, have = self.rows
        kept = np.maximum(np.nan_to_num(tasks), 0.0)
        over = np.maximum((use @ kept) / have, 1.0)
        entries = use.tocoo()
        cut = np.ones(len(kept))
        np.maximum.at(cut, entries.col, over[entries.row])
        return kept / cut

    def plain(self) -> dict[str, Any]:
        """Everything as plain data, in the order of the format."""
        kind = {"kind": "max-min"} if np.isinf(self.alpha) else _alpha(self.alpha)
        found: dict[str, Any] = {
            "schema": SCHEMA,
            **{key: getattr(self, key) for key in ("name", "family", "title", "source", "licence")},
            "notion": kind,
            "weight": self.weight.tolist(),
            "limit": [x if np.isfinite(x) else None for x in self.limit.tolist()],
            "capacity": self.pool.tolist(),
            "columns": {
                "user": self.user.tolist(),
                "server": self.server.tolist(),
                "demand": self.demand.tolist(),
                "share": self.share.tolist(),
            },
            "rules": [{"most": m, "column": list(c), "times": list(t)} for m, c, t in self.rules],
        }
        return found

    def digest(self) -> str:
        """Sixteen digits of the SHA-256 of what is asked, words left out, numbers to ten digits.

        The last digits of a power or logarithm are not the same on all processors.
        """
        words = ("schema", "name", "family", "title", "source", "licence")
        asked = {key: value for key, value in self.plain().items() if key not in words}
        text = json.dumps(_rounded(asked), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def text(self) -> str:
        """The JSON text of one file."""
        return json.dumps(self.plain(), separators=(",", ":")) + "\n"


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_rounded(inner) for inner in value]
    return f"{value:.10g}" if isinstance(value, float) else value


def _alpha(alpha: float) -> dict[str, Any]:
    return {"kind": "alpha-fair", "alpha": alpha}


def read(text: str) -> Problem:
    """A problem from its JSON text.

    Raises
    ------
    ValueError : not of this schema.
    """
    given = json.loads(text)
    if given.get("schema") != SCHEMA:
        raise ValueError(f"schema: found {given.get('schema')!r}; wanted {SCHEMA!r}")
    columns, notion = given["columns"], given["notion"]
    return Problem(
        **{key: given[key] for key in ("name", "family", "title", "source", "licence")},
        alpha=np.inf if notion["kind"] == "max-min" else float(notion["alpha"]),
        weight=np.array(given["weight"], float),
        limit=np.array([np.inf if x is None else x for x in given["limit"]], float),
        pool=np.array(given["capacity"], float),
        user=np.array(columns["user"], int),
        server=np.array(columns["server"], int),
        demand=np.array(columns["demand"], float),
        share=np.array(columns["share"], float),
        rules=tuple((r["most"], tuple(r["column"]), tuple(r["times"])) for r in given["rules"]),
    )
