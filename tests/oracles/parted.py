"""An answer that nobody solved, written as a folder of partitions, and what its judge says."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np

import fairopt as fo


def certified(
    inst: fo.Instance, notion: fo.AlphaFair, tasks: np.ndarray, prices: np.ndarray, users: int = 1
) -> fo.Certificate:
    """The verdict on tasks (N, I) at prices (I, R), `users` of them in a partition."""
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder)
        fo.write_partitions(inst, where / "in", users)
        out = where / "out"
        out.mkdir()
        np.save(out / "prices.npy", np.asarray(prices, dtype=np.float64))
        for k, first in enumerate(range(0, len(inst.users), users)):
            np.save(out / f"tasks-{k:05d}.npy", np.asarray(tasks[first : first + users], float))
        told = {"schema": "fairopt/partitions/v1", "notion": notion.plain(), "partitions": "../in"}
        (out / "answer.json").write_text(json.dumps(told), encoding="utf-8")
        return fo.certify_partitions(out, where / "in")


def solved(
    inst: fo.Instance, notion: fo.AlphaFair, users: int = 1
) -> tuple[np.ndarray, fo.Certificate]:
    """(N, I) tasks of the solver of partitions, and its verdict."""
    with tempfile.TemporaryDirectory() as folder:
        fo.write_partitions(inst, Path(folder) / "in", users)
        found = fo.solve_partitions(
            Path(folder) / "in", notion, Path(folder) / "out", uncertified="return"
        )
        parts = -(-len(inst.users) // users)
        return np.concatenate([found.tasks(k) for k in range(parts)]), found.certificate
