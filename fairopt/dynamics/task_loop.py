"""The inner loop of `tasks`: arrivals and ends of tasks in order, and who is served after each.

Written for `fast.loop`. A class is a number k, a job has a slot s in which its numbers stand, and
amounts are whole numbers held in floats, so that nothing is ever rounded.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairopt.fast import inner
from fairopt.instance import Floats, Ints

# rules
DRF, IDEAL, BMF, RESIDUAL = 0, 1, 2, 3
# why `advance` comes back: more arrivals wanted, more slots, ideal rates of this population, done
MORE, SLOTS, RATES, DONE = 0, 1, 2, 3
# places in `count`
NEXT, ACTIVE, HEAP, FREE, STARTED, ENDED, ARRIVED, LEFT, WATCHED, TOLD = range(10)
COUNTS = 10


@inner
def push(when: Floats, who: Ints, size: int, time: float, slot: int) -> None:
    """Add to the heap of running tasks, ordered by the time at which they end."""
    k = size
    while k > 0:
        up = (k - 1) // 2
        if when[up] <= time:
            break
        when[k] = when[up]
        who[k] = who[up]
        k = up
    when[k] = time
    who[k] = slot


@inner
def pop(when: Floats, who: Ints, size: int) -> None:
    """Take the first off the heap."""
    last = size - 1
    time, slot = when[last], who[last]
    k = 0
    while True:
        down = 2 * k + 1
        if down >= last:
            break
        if down + 1 < last and when[down + 1] < when[down]:
            down += 1
        if time <= when[down]:
            break
        when[k] = when[down]
        who[k] = who[down]
        k = down
    when[k] = time
    who[k] = slot


@inner
def bottleneck_rank(
    s: int, active: Ints, number: int, kind: Ints, running: Ints, need: Floats, tight: Any
) -> int:
    """Best rank of job s over bottleneck resources; 1 + jobs with a strictly larger share."""
    best = number + 1
    for j in range(need.shape[1]):
        if not tight[j]:
            continue
        mine = running[s] * need[kind[s], j]
        rank = 1
        for i in range(number):
            other = active[i]
            if running[other] * need[kind[other], j] > mine:
                rank += 1
        best = min(best, rank)
    return best


@inner
def next_job(
    rule: int,
    freeze: bool,
    strict: bool,
    active: Ints,
    number: int,
    kind: Ints,
    started: Ints,
    running: Ints,
    tasks: int,
    need: Floats,
    left: Floats,
    share: Floats,
    ideal: Floats,
) -> int:
    """The slot of the most deprived job with waiting tasks; -1 if there is none.

    Ties: to the smaller dominant share, then to who came first.
    """
    resources = need.shape[1]
    tight = np.zeros(resources, dtype=np.bool_)
    any_tight = False
    if rule == BMF:
        for j in range(resources):
            largest = 0.0
            for i in range(number):
                largest = max(largest, need[kind[active[i]], j])
            tight[j] = left[j] < largest or (left[j] == largest and not strict)
            any_tight = any_tight or tight[j]
    found, best, second = -1, 0.0, 0.0
    for i in range(number):
        s = active[i]
        if started[s] == tasks:
            continue
        k = kind[s]
        if not freeze:
            fits = True
            for j in range(resources):
                fits = fits and need[k, j] <= left[j]
            if not fits:
                continue
        dominant = running[s] * share[k]
        level = dominant
        if rule == IDEAL:
            level = running[s] / ideal[k]
        elif rule == BMF and any_tight:
            level = -float(bottleneck_rank(s, active, number, kind, running, need, tight))
        elif rule == RESIDUAL:
            level = 0.0
            for j in range(resources):
                if need[k, j] > 0:
                    if left[j] <= 0:
                        level = np.inf
                    else:
                        level = max(level, running[s] * need[k, j] / left[j])
        if found < 0 or level < best or (level == best and dominant < second):
            found, best, second = s, level, dominant
    return found


def advance(
    rule: int,
    freeze: bool,
    strict: bool,
    tasks: int,
    watched: int,
    until: int,
    need: Floats,
    capacity: Floats,
    share: Floats,
    ideal: Floats,
    block_kind: Ints,
    block_time: Floats,
    block_work: Floats,
    count: Ints,
    clock: Floats,
    left: Floats,
    present: Ints,
    kind: Ints,
    born: Floats,
    number: Ints,
    started: Ints,
    running: Ints,
    work: Floats,
    active: Ints,
    free: Ints,
    when: Floats,
    who: Ints,
    area: Floats,
    stay: Floats,
    used: Floats,
    peak: Floats,
    seen: Ints,
    wait: Floats,
) -> int:
    """Events in order until one of the reasons above.

    Parameters
    ----------
    rule, freeze, strict, tasks : as of `tasks`; tasks of a job.
    watched, until : jobs numbered watched <= n < until are measured.
    need (K, R), capacity (R,), share (K,), ideal (K,) : whole demands and capacities, dominant
        share of one task up to a common factor, ideal rate of one job.
    block_* : class, time and (B, tasks) task times of the next B arrivals; count[NEXT] is the
        first not yet used.
    count, clock, left, present : counters; time now; what is left (R,); jobs present (K,).
    kind ... work : by slot: class, arrival, number, tasks started, tasks running, task times.
    active, free : slots of the jobs in order of arrival, and slots not in use.
    when, who : heap of running tasks.
    area, stay, used, peak : integrals of jobs present (K,) and of use (R,), time in the system of
        all jobs that left (K,), largest use (R,).
    seen, wait : measured jobs that left, and their time in the system (K,).
    """
    classes, resources = need.shape
    settle = count[TOLD] == 1
    count[TOLD] = 0
    while True:
        # one event a turn; after ideal rates were asked for, its tasks are still to be started
        if not settle:
            n = count[NEXT]
            if n == len(block_time):
                return MORE
            arrival = count[HEAP] == 0 or block_time[n] <= when[0]
            if arrival and count[ACTIVE] == len(kind):
                return SLOTS
            now = block_time[n] if arrival else when[0]
            step = now - clock[0]
            for k in range(classes):
                area[k] += step * present[k]
            for j in range(resources):
                used[j] += step * (capacity[j] - left[j])
            clock[0] = now
            moved = arrival
            if arrival:
                s = free[count[FREE] - 1]
                count[FREE] -= 1
                active[count[ACTIVE]] = s
                count[ACTIVE] += 1
                kind[s] = block_kind[n]
                born[s] = now
                number[s] = count[ARRIVED]
                started[s] = 0
                running[s] = 0
                for t in range(tasks):
                    work[s, t] = block_work[n, t]
                present[kind[s]] += 1
                count[ARRIVED] += 1
                count[NEXT] += 1
            else:
                s = who[0]
                pop(when, who, count[HEAP])
                count[HEAP] -= 1
                count[ENDED] += 1
                running[s] -= 1
                k = kind[s]
                for j in range(resources):
                    left[j] += need[k, j]
                if running[s] == 0 and started[s] == tasks:
                    moved = True
                    present[k] -= 1
                    count[LEFT] += 1
                    stay[k] += now - born[s]
                    at = 0
                    while active[at] != s:
                        at += 1
                    count[ACTIVE] -= 1
                    for i in range(at, count[ACTIVE]):
                        active[i] = active[i + 1]
                    free[count[FREE]] = s
                    count[FREE] += 1
                    if watched <= number[s] < until:
                        seen[k] += 1
                        wait[k] += now - born[s]
                        count[WATCHED] += 1
                        if count[WATCHED] == until - watched:
                            return DONE
            if moved and rule == IDEAL:
                count[TOLD] = 1
                return RATES
        settle = False
        while True:
            s = next_job(
                rule,
                freeze,
                strict,
                active,
                count[ACTIVE],
                kind,
                started,
                running,
                tasks,
                need,
                left,
                share,
                ideal,
            )
            if s < 0:
                break
            k = kind[s]
            fits = True
            for j in range(resources):
                fits = fits and need[k, j] <= left[j]
            # only with `freeze`: a job whose turn it is holds back all others until it fits
            if not fits:
                break
            for j in range(resources):
                left[j] -= need[k, j]
                peak[j] = max(peak[j], capacity[j] - left[j])
            push(when, who, count[HEAP], clock[0] + work[s, started[s]], s)
            count[HEAP] += 1
            count[STARTED] += 1
            started[s] += 1
            running[s] += 1
