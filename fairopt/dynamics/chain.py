"""The stationary law of a chain on a box of whole numbers that moves by one in one class at a time.

Multilevel aggregation and disaggregation: Gauss-Seidel sweeps smooth the law; cells of two states a
class are lumped by the present law; the lumped chain, which moves by one on a smaller box, is
solved the same way; and every cell is scaled to its lumped mass. The law sought is a fixed point of
this. A few of the last laws are recombined to the least residual, which halves the cycles taken.

When to stop is said by the flows: a small residual alone says little, since a law that is far off
may move very slowly.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from fairopt.errors import SolverFailure
from fairopt.instance import Floats

DENSE = 400
"""a chain of at most so many states is solved by elimination"""
CYCLES = 300
KEPT = 4
"""laws that are recombined"""
TINY = 1e-300


class Law(NamedTuple):
    """A law on a box.

    Parameters
    ----------
    chance : the probabilities, an array of the box.
    flow : (K,) of each class, what leaves over what comes in, less 1.
    residual : sum over the states of |what flows in - what flows out|, over all that flows.
    cycles : how many were taken.
    """

    chance: Floats
    flow: Floats
    residual: float
    cycles: int


def stationary(
    birth: Sequence[Floats],
    death: Sequence[Floats],
    flow: float,
    start: Floats | None = None,
    cycles: int = CYCLES,
) -> Law:
    """The law of a chain that is blocked at the upper edges of its box.

    Parameters
    ----------
    birth : K arrays that broadcast to the box: rate from n to n + e_k.
    death : K arrays of the box: rate from n to n - e_k, 0 where n_k = 0.
    flow : stop when of every class what leaves is what comes in, to this part, and the residual
        is below a tenth of it.
    start : a first guess, > 0; default all states alike.

    Raises
    ------
    SolverFailure : not so after `cycles` cycles.
    """
    level = ChainLevel(birth, death)
    shape = level.shape
    if np.prod(shape) <= DENSE:
        law = level.exact()
        return Law(level.box(law).copy(), *_measured(level, law, level.residual(law)), 0)
    law = level.flat(np.ones(shape) if start is None else start)
    law /= law.sum()
    past: list[tuple[Floats, Floats]] = []
    for done in range(1, cycles + 1):
        law = level.cycle(law)
        law, residual = recombined(level, law, past)
        balance, moved = _measured(level, law, residual)
        if np.abs(balance).max() <= flow and moved <= 0.1 * flow:
            return Law(level.box(law).copy(), balance, moved, done)
    worst = float(np.abs(balance).max())
    raise SolverFailure(
        f"chain: after {cycles} cycles on {' x '.join(map(str, shape))} states what leaves differs "
        f"from what comes in by {worst:.2g} of it; wanted {flow:.2g}"
    )


def recombined(
    level: ChainLevel, law: Floats, past: list[tuple[Floats, Floats]]
) -> tuple[Floats, Floats]:
    """The combination of this law and `past` ones of least residual, and its residual.

    Residuals are weighed by 1 / sqrt(flow through a state), the measure in which states of every
    size count. Where the combination is not positive the law itself stands. `past` is kept.
    """
    residual = level.residual(law)
    if past:
        weight = 1.0 / np.sqrt(np.maximum(law * level.out, 1e-30))
        apart = np.array([(residual - old) * weight for _, old in past])
        product = apart @ apart.T
        part = np.linalg.lstsq(product, apart @ (residual * weight), rcond=1e-14)[0]
        best = law.copy()
        for c, (old, _) in zip(part, past, strict=True):
            best += c * (old - law)
        np.copyto(best, law, where=best <= 0)
        law = best / best.sum()
        residual = level.residual(law)
    past.append((law.copy(), residual))
    del past[: -(KEPT - 1)]
    return law, residual


def _measured(level: ChainLevel, law: Floats, residual: Floats) -> tuple[Floats, float]:
    """(K,) what leaves over what comes in, less 1; and the residual over all that flows."""
    box = level.box(law)
    balance = np.empty(box.ndim)
    for k in range(box.ndim):
        below = _cut(k, box.ndim, slice(None, -1))
        comes = float((box[below] * _on(level.birth[k], box.shape)[below]).sum())
        balance[k] = float((box * level.death[k]).sum()) / comes - 1.0
    return balance, float(np.abs(residual).sum() / (law @ level.out))


class ChainLevel:
    """A chain on a box, laid out so that a sweep is a few operations on long slices.

    All classes but the first have one or two unused places at their end, so that the distance to a
    neighbour is an odd number for every class: even places have odd neighbours only. What would
    step over an edge reads an unused place, where everything is 0.

    Parameters
    ----------
    birth : K arrays that broadcast to the box, rate from n to n + e_k; not read at the upper edge.
    death : K arrays of the box, rate from n to n - e_k, 0 where n_k = 0.
    """

    def __init__(self, birth: Sequence[Floats], death: Sequence[Floats]) -> None:
        self.shape = death[0].shape
        self.birth, self.death = birth, death
        padded = (self.shape[0], *(s + 1 + s % 2 for s in self.shape[1:]))
        self.inner = tuple(slice(0, s) for s in self.shape)
        self.step = [int(np.prod(padded[k + 1 :])) for k in range(len(padded))]
        self.first, self.padded = self.step[0], padded
        self.size = int(np.prod(padded))
        out = np.zeros(self.shape)
        for k in range(len(birth)):
            below = _cut(k, len(padded), slice(None, -1))
            out += death[k]
            out[below] += _on(birth[k], self.shape)[below]
        self.out = self.flat(np.where(out > 0, out, 1.0))
        inverse = np.divide(1.0, self.out, out=np.zeros_like(self.out), where=self.out > 0)
        self.up, self.down = [], []
        for k, step in enumerate(self.step):
            below = _cut(k, len(padded), slice(None, -1))
            rising = np.zeros(self.shape)
            rising[below] = _on(birth[k], self.shape)[below]
            up, down = self.flat(rising), self.flat(death[k])
            # rates into a place over the rate out of it, kept where the flow comes from
            up[: len(up) - step] *= inverse[step:]
            down[step:] *= inverse[: len(down) - step]
            self.up.append(up)
            self.down.append(down)
        half = self.size // 2 + 1
        self._sum, self._term = np.empty(half), np.empty(half)

    def flat(self, values: Floats) -> Floats:
        """Values of the box as one row, with the unused places and a margin at both ends."""
        row = np.zeros(self.size + 2 * self.first)
        self.box(row)[...] = values
        return row

    def box(self, row: Floats) -> Floats:
        """The box within such a row: a view."""
        body: Floats = row[self.first : self.first + self.size].reshape(self.padded)
        return body[self.inner]

    def into(self, law: Floats, start: int, jump: int, out: Floats, term: Floats) -> None:
        """What flows into every `jump`-th place from `start`, over the rate out of it."""
        end = self.first + self.size
        fresh = True
        for k, step in enumerate(self.step):
            for rate, by in ((self.up[k], -step), (self.down[k], step)):
                here = slice(start + by, end + by, jump)
                if fresh:
                    np.multiply(rate[here], law[here], out=out)
                    fresh = False
                else:
                    np.multiply(rate[here], law[here], out=term)
                    out += term

    def sweep(self, law: Floats) -> None:
        """One Gauss-Seidel sweep in place: even places, then odd ones."""
        for start in (self.first, self.first + 1):
            number = (self.first + self.size - start + 1) // 2
            out, term = self._sum[:number], self._term[:number]
            self.into(law, start, 2, out, term)
            law[start : self.first + self.size : 2] = out

    def residual(self, law: Floats) -> Floats:
        """What flows in less what flows out, of every place."""
        row = np.zeros_like(law)
        body = slice(self.first, self.first + self.size)
        self.into(law, self.first, 1, row[body], np.empty(self.size))
        row -= law
        row *= self.out
        return row

    def lumped(self, law: Floats) -> tuple[ChainLevel, Floats]:
        """The chain of cells of two states a class, and their masses (an array of its box)."""
        box = self.box(law)
        mass = _pairs(box)
        safe = np.maximum(mass, TINY)
        birth, death = [], []
        for k in range(len(self.shape)):
            # only what leaves a cell counts: up from its second state, down from its first
            rising = (_on(self.birth[k], self.shape) * box)[_cut(k, box.ndim, slice(1, None, 2))]
            falling = (self.death[k] * box)[_cut(k, box.ndim, slice(0, None, 2))]
            up = np.zeros(mass.shape)
            lumped = _pairs(rising, but=k)
            up[_cut(k, box.ndim, slice(0, lumped.shape[k]))] = lumped
            birth.append(up / safe)
            death.append(_pairs(falling, but=k) / safe)
        return ChainLevel(birth, death), mass

    def exact(self) -> Floats:
        """The law (a row) by elimination; for small boxes."""
        number = np.arange(int(np.prod(self.shape))).reshape(self.shape)
        flow = np.zeros((number.size, number.size))
        for k in range(len(self.shape)):
            low, high = (_cut(k, number.ndim, s) for s in (slice(None, -1), slice(1, None)))
            flow[number[high], number[low]] = _on(self.birth[k], self.shape)[low]
            flow[number[low], number[high]] = self.death[k][high]
        flow -= np.diag(flow.sum(axis=0))
        flow[0] = 1.0
        right = np.zeros(len(flow))
        right[0] = 1.0
        law = np.maximum(np.linalg.solve(flow, right), 0.0)
        return self.flat((law / law.sum()).reshape(self.shape))

    def cycle(self, law: Floats, visits: int = 2) -> Floats:
        """One cycle, in place where the box is large: the law keeps its mass."""
        total = law.sum()
        if np.prod(self.shape) <= DENSE:
            law = self.exact()
            law *= total
            return law
        self.sweep(law)
        lower, mass = self.lumped(law)
        row = lower.flat(mass)
        once = np.prod(lower.shape) <= DENSE
        for _ in range(1 if once else visits):
            row = lower.cycle(row, visits)
        scale = np.where(mass > TINY, lower.box(row) / np.maximum(mass, TINY), 1.0)
        box = self.box(law)
        box *= _spread(scale, self.shape)
        self.sweep(law)
        self.sweep(law)
        law *= total / law.sum()
        return law


def _cut(k: int, dimensions: int, part: slice) -> tuple[slice, ...]:
    """An index of all of a box but `part` of class k."""
    return tuple(part if d == k else slice(None) for d in range(dimensions))


def _on(values: Floats, shape: tuple[int, ...]) -> Floats:
    return np.broadcast_to(values, shape)


def _pairs(values: Floats, but: int | None = None) -> Floats:
    """Sums of two neighbours a class, of all classes `but` one; an odd last stays alone."""
    for k in range(values.ndim):
        if k != but:
            even = values[_cut(k, values.ndim, slice(0, None, 2))].copy()
            odd = values[_cut(k, values.ndim, slice(1, None, 2))]
            even[_cut(k, values.ndim, slice(0, odd.shape[k]))] += odd
            values = even
    return values


def _spread(values: Floats, shape: tuple[int, ...]) -> Floats:
    """The value of each cell at its states."""
    for k, size in enumerate(shape):
        values = np.repeat(values, 2, axis=k)[_cut(k, values.ndim, slice(0, size))]
    return values
