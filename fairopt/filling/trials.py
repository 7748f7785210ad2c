"""Many runs of a random scheduler: statistics of its tasks and of the unused capacity."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fairopt.filling.filler import Filler
from fairopt.instance import Floats, Instance

_NORMAL = 1.959963984540054
"""97.5% point of the normal distribution"""


@dataclass(frozen=True)
class Trials:
    """Statistics over trials.

    Parameters
    ----------
    trials : number of runs.
    mean, sd : (N, I) of the tasks; each sd is the population's (divided by the number of trials).
    unused, unused_sd : (I, R) mean and sd of the capacity left on the whole row.
    total, total_sd : mean and sd of the sum of all tasks.

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt.filling import run_trials
    >>> found = run_trials(fo.Instance([[1, 4], [3, 1]], [[9, 18]]), 'rrr-ps-dsf', trials=5)
    >>> found.trials, found.total
    (5, 5.0)
    """

    trials: int
    mean: Floats
    sd: Floats
    unused: Floats
    unused_sd: Floats
    total: float
    total_sd: float

    @property
    def interval(self) -> Floats:
        """(2, N, I) 95% confidence interval of the mean tasks."""
        half = _NORMAL * self.sd / np.sqrt(self.trials)
        return np.stack([self.mean - half, self.mean + half])

    @property
    def unused_interval(self) -> Floats:
        """(2, I, R) 95% confidence interval of the mean unused capacity."""
        half = _NORMAL * self.unused_sd / np.sqrt(self.trials)
        return np.stack([self.unused - half, self.unused + half])


def run_trials(
    instance: Instance,
    scheduler: str,
    selection: str | None = None,
    trials: int = 200,
    seed: int = 0,
    increment: float = 1.0,
    user_tie: str = "highest",
    server_tie: str = "lowest",
    progress: Callable[[int, int], None] | None = None,
) -> Trials:
    """Fill `trials` times from empty machines, all draws from one generator of the seed.

    Examples
    --------
    >>> import fairopt as fo
    >>> from fairopt.filling import run_trials
    >>> found = run_trials(fo.Instance([[1, 4], [3, 1]], [[9, 18]]), 'rrr-ps-dsf', trials=5)
    >>> found.mean
    array([[3.],
           [2.]])
    """
    filler = Filler(instance, scheduler, selection, seed, increment, user_tie, server_tie)
    draw = random.Random(seed)
    tasks = np.empty((trials, *instance.shape[:2]))
    unused = np.empty((trials, *instance.capacity.shape))
    for k in range(trials):
        if progress is not None:
            progress(k, trials)
        filler.cluster.clear()
        filler.run(draw)
        tasks[k] = filler.cluster.tasks()
        unused[k] = instance.pool - instance.used(tasks[k])
    total = tasks.sum(axis=(1, 2))
    return Trials(
        trials,
        tasks.mean(axis=0),
        tasks.std(axis=0),
        unused.mean(axis=0),
        unused.std(axis=0),
        float(total.mean()),
        float(total.std()),
    )
