"""A table with one entry for all machines of equal shape and equal residual."""

from __future__ import annotations

import heapq

import numpy as np

from fairopt.filling.cluster import Machines
from fairopt.instance import Bools, Floats, Ints

_NONE = np.iinfo(np.int64).max


class States:
    """The different machine states in use, each with the position of its first machine.

    A state in which no kind of user fits any more is dropped (unless `keep_full`). So the table has
    at most one entry per machine that can still take a task, and usually far fewer.
    """

    def __init__(self, cluster: Machines, keep_full: bool = False) -> None:
        self.cluster, self.keep_full = cluster, keep_full
        self.size = 0
        self.shape: Ints = np.zeros(16, dtype=np.int64)
        self.room: Floats = np.full((cluster.capacity.shape[1], 16), -1.0)
        """(R, states) residual + slack, by resource so that a scan runs over contiguous memory"""
        self.first: Ints = np.full(16, _NONE)
        self.version: list[int] = [0] * len(cluster.shape)
        """times each machine has changed"""
        self._heaps: list[list[int]] = []
        self._at: dict[tuple[int, bytes], int] = {}
        self._key: list[tuple[int, bytes]] = []
        self._free: list[int] = []
        self._full: set[tuple[int, bytes]] = set()
        self._of: list[int] = [-1] * len(cluster.shape)
        for position in range(len(cluster.shape)):
            self._join(position)

    def residual(self, states: Ints) -> Floats:
        """(K, R) residuals of some states."""
        shapes = self.shape[states]
        return np.asarray(self.room[:, states].T - self.cluster.slack[shapes])

    def eligible(self, kind: int) -> Bools:
        """(states,) whether the kind is eligible there, full or not."""
        mask = self.first[: self.size] != _NONE
        if not self.cluster.eligible[kind].all():
            mask &= self.cluster.eligible[kind, self.shape[: self.size]]
        return np.asarray(mask)

    def fitting(self, kind: int) -> Ints:
        """Indices of the states in which one more increment of a kind fits."""
        c, k = self.cluster, self.size
        mask: Bools | None = None
        need = c.demand[kind, self.shape[:k]].T if c.by_server else c.demand[kind][:, None]
        for r in range(len(self.room)):
            ok = self.room[r, :k] >= need[r]
            mask = ok if mask is None else np.logical_and(mask, ok, out=mask)
        assert mask is not None
        if not c.eligible[kind].all():
            mask &= c.eligible[kind, self.shape[:k]]
        return np.flatnonzero(mask)

    def place(self, user: int, position: int) -> None:
        """Place on a machine, which must be the first of its state, and move it to its new one."""
        state = self._of[position]
        heap = self._heaps[state]
        if heapq.heappop(heap) != position:
            raise RuntimeError("a machine was chosen that is not the first of its state")
        if heap:
            self.first[state] = heap[0]
        else:
            self.room[:, state] = -1.0
            self.first[state] = _NONE
            del self._at[self._key[state]]
            self._free.append(state)
        self.cluster.place(user, position)
        self.version[position] += 1
        self._join(position)

    def _join(self, position: int) -> None:
        c = self.cluster
        shape = int(c.shape[position])
        key = (shape, c.residual[position].tobytes())
        if key in self._full:
            self._of[position] = -1
            return
        state = self._at.get(key)
        if state is None:
            if not self.keep_full and not len(c.fitting(position)):
                self._full.add(key)
                self._of[position] = -1
                return
            state = self._new(key, c.residual[position] + c.slack[shape])
        heapq.heappush(self._heaps[state], position)
        self.first[state] = self._heaps[state][0]
        self._of[position] = state

    def _new(self, key: tuple[int, bytes], room: Floats) -> int:
        if self._free:
            state = self._free.pop()
            self._key[state] = key
        else:
            state = self.size
            self.size += 1
            self._heaps.append([])
            self._key.append(key)
            if state == len(self.first):
                self.shape = np.concatenate([self.shape, np.zeros_like(self.shape)])
                self.first = np.concatenate([self.first, np.full_like(self.first, _NONE)])
                self.room = np.concatenate([self.room, np.full_like(self.room, -1.0)], axis=1)
        self._at[key] = state
        self.shape[state] = key[0]
        self.room[:, state] = room
        return state
