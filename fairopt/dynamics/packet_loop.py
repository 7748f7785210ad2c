"""The inner loop of `packets`: start-time fair queueing at every resource in turn.

Written for `fast.loop`. A class is a number k, a flow has a slot s in which its numbers stand.
"""

from __future__ import annotations

import numpy as np

from fairopt.dynamics.fast import inner
from fairopt.instance import Floats, Ints

# rules: by how much a packet's tag is above that of its flow's packet before it
DRF, PF, BMF = 0, 1, 2
# why `advance` comes back: more arrivals wanted, more slots, done
MORE, SLOTS, DONE = 0, 1, 2
# places in `count`
NEXT, ACTIVE, FREE, ARRIVED, LEFT, WATCHED, SENT, ENDED = range(8)
COUNTS = 8


@inner
def enqueue(
    s: int, j: int, rule: int, service: Floats, k: int, virtual: Floats, tags: Floats,
    head: Ints, length: Ints, last: Floats, serving: Ints,
) -> None:  # fmt: skip
    """One more packet of flow s at resource j, tagged max(V_j, the flow's last tag + what it adds).

    Under PF that is a_kj / Q with the Q of now, as in (8): packets waiting or in service, and this.
    """
    window = tags.shape[2]
    add = service[k, j]
    if rule == PF:
        here = length[s, j] + 1
        if serving[j] == s:
            here += 1
        add /= here
    elif rule == DRF:
        for other in range(service.shape[1]):
            add = max(add, service[k, other])
    start = max(virtual[j], last[s, j] + add)
    tags[s, j, (head[s, j] + length[s, j]) % window] = start
    length[s, j] += 1
    last[s, j] = start


@inner
def resource_after(service: Floats, k: int, j: int) -> int:
    """The next resource that class k needs after j; the number of resources if there is none."""
    j += 1
    while j < service.shape[1] and service[k, j] == 0:
        j += 1
    return j


@inner
def serve(
    j: int, now: float, service: Floats, active: Ints, number: int, kind: Ints, tags: Floats,
    head: Ints, length: Ints, virtual: Floats, serving: Ints, ready: Floats, busy: Floats,
) -> None:  # fmt: skip
    """Begin the waiting packet of smallest start tag at a free resource; ties to the older flow."""
    best, found = 0.0, -1
    for i in range(number):
        s = active[i]
        if length[s, j] > 0:
            tag = tags[s, j, head[s, j]]
            if found < 0 or tag < best:
                found, best = s, tag
    serving[j] = found
    if found < 0:
        ready[j] = np.inf
        return
    virtual[j] = best
    head[found, j] = (head[found, j] + 1) % tags.shape[2]
    length[found, j] -= 1
    ready[j] = now + service[kind[found], j]
    busy[j] += service[kind[found], j]


def advance(
    rule: int, horizon: float, watched: int, until: int, service: Floats,
    block_kind: Ints, block_time: Floats, block_size: Floats,
    count: Ints, clock: Floats, present: Ints,
    kind: Ints, born: Floats, number: Ints, unsent: Floats, flying: Ints, active: Ints, free: Ints,
    tags: Floats, head: Ints, length: Ints, last: Floats,
    virtual: Floats, serving: Ints, ready: Floats, busy: Floats,
    area: Floats, stay: Floats, done: Ints, seen: Ints, wait: Floats,
) -> int:  # fmt: skip
    """Events in order until `horizon`, or until all measured flows have left.

    Parameters
    ----------
    rule : DRF, PF or BMF.
    watched, until : flows numbered watched <= n < until are measured.
    service (K, R) : time a packet takes.
    block_kind, block_time, block_size : the next arrivals; count[NEXT] is the first not yet used.
    kind ... flying : by slot: class, arrival, number, packets not yet sent, packets on their way.
    active, free : slots of the flows in order of arrival, and slots not in use.
    tags, head, length (S, R, window), (S, R), (S, R) : start tags waiting, in rings.
    last (S, R), virtual (R,) : last start tag of a flow (0 before its first packet), tag in service
        at a resource.
    serving, ready, busy (R,) : whose packet is served (-1 none), until when, time spent serving
        what has begun.
    area, stay (K,) : integral of flows present, time in the system of flows that left.
    done (K,) : packets that left; seen, wait (K,) : measured flows that left and their time.
    """
    classes, resources = service.shape
    window = tags.shape[2]
    while True:
        n = count[NEXT]
        if n == len(block_time):
            return MORE
        j = 0
        for other in range(1, resources):
            if ready[other] < ready[j]:
                j = other
        arrival = block_time[n] < ready[j]
        if arrival and count[ACTIVE] == len(kind):
            return SLOTS
        now = block_time[n] if arrival else ready[j]
        if now > horizon:
            return DONE
        step = now - clock[0]
        for k in range(classes):
            area[k] += step * present[k]
        clock[0] = now
        if arrival:
            count[FREE] -= 1
            s = free[count[FREE]]
            active[count[ACTIVE]] = s
            count[ACTIVE] += 1
            k = block_kind[n]
            kind[s] = k
            born[s] = now
            number[s] = count[ARRIVED]
            present[k] += 1
            count[ARRIVED] += 1
            count[NEXT] += 1
            for r in range(resources):
                head[s, r] = 0
                length[s, r] = 0
                last[s, r] = 0.0
            first = resource_after(service, k, -1)
            flying[s] = int(min(float(window), block_size[n]))
            unsent[s] = block_size[n] - flying[s]
            count[SENT] += flying[s]
            for _ in range(flying[s]):
                enqueue(s, first, rule, service, k, virtual, tags, head, length, last, serving)
            j = first
        else:
            s = serving[j]
            k = kind[s]
            serving[j] = -1
            onward = resource_after(service, k, j)
            if onward == resources:
                done[k] += 1
                count[ENDED] += 1
                onward = resource_after(service, k, -1)
                if unsent[s] > 0:
                    unsent[s] -= 1
                    count[SENT] += 1
                else:
                    flying[s] -= 1
                    onward = resources
            if onward < resources:
                enqueue(s, onward, rule, service, k, virtual, tags, head, length, last, serving)
                if onward != j and serving[onward] < 0:
                    serve(onward, now, service, active, count[ACTIVE], kind, tags, head, length,
                          virtual, serving, ready, busy)  # fmt: skip
            elif flying[s] == 0:
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
        if serving[j] < 0:
            serve(j, now, service, active, count[ACTIVE], kind, tags, head, length, virtual,
                  serving, ready, busy)  # fmt: skip
        if count[WATCHED] == until - watched:
            return DONE
