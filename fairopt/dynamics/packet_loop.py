"""The inner loop of `packets`: start-time fair queueing at every resource in turn.

Written for `fast.loop`. A class is a number k, a flow has a slot s in which its numbers stand.
"""

from __future__ import annotations

import numpy as np

from fairopt.fast import inner
from fairopt.instance import Floats, Ints

# rules: by how much a packet's tag is above that of its flow's packet before it
DRF, PF, BMF, NORMALISED = 0, 1, 2, 3
# why `advance` comes back: more arrivals wanted, more slots, done
MORE, SLOTS, DONE = 0, 1, 2
# places in `count`
NEXT, ACTIVE, FREE, ARRIVED, LEFT, WATCHED, SENT, ENDED = range(8)
COUNTS = 8


@inner
def enqueue(
    s: int,
    j: int,
    rule: int,
    service: Floats,
    k: int,
    virtual: Floats,
    tags: Floats,
    head: Ints,
    length: Ints,
    last: Floats,
    serving: Ints,
) -> None:
    """One more packet of flow s at resource j, tagged max(V_j, the flow's last tag + what it adds).

    Under PF that is a_kj / Q with the Q of now, as in (8): packets waiting or in service, and this.
    Normalised, Q is divided by the flow's packets at all resources, this one counted.
    """
    window = tags.shape[2]
    add = service[k, j]
    if rule in (PF, NORMALISED):
        here = length[s, j] + 1
        if serving[j] == s:
            here += 1
        add /= here
    if rule == NORMALISED:
        queued = 1
        for other in range(service.shape[1]):
            queued += length[s, other]
            if serving[other] == s:
                queued += 1
        add *= queued
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
def send(
    s: int,
    parallel: bool,
    rule: int,
    service: Floats,
    k: int,
    virtual: Floats,
    tags: Floats,
    head: Ints,
    length: Ints,
    last: Floats,
    serving: Ints,
) -> None:
    """A new packet of flow s joins the queue of its first resource, or in parallel of all."""
    first = resource_after(service, k, -1)
    enqueue(s, first, rule, service, k, virtual, tags, head, length, last, serving)
    if parallel:
        for j in range(first + 1, service.shape[1]):
            if service[k, j] > 0:
                enqueue(s, j, rule, service, k, virtual, tags, head, length, last, serving)


@inner
def all_through(s: int, service: Floats, k: int, through: Ints) -> int:
    """Packets of flow s that every resource it needs has served."""
    least = -1
    for j in range(service.shape[1]):
        if service[k, j] > 0 and (least < 0 or through[s, j] < least):
            least = through[s, j]
    return least


@inner
def serve(
    j: int,
    now: float,
    service: Floats,
    active: Ints,
    number: int,
    kind: Ints,
    tags: Floats,
    head: Ints,
    length: Ints,
    virtual: Floats,
    serving: Ints,
    ready: Floats,
    busy: Floats,
) -> None:
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
    rule: int,
    parallel: bool,
    delay: Floats,
    horizon: float,
    watched: int,
    until: int,
    service: Floats,
    block_kind: Ints,
    block_time: Floats,
    block_size: Floats,
    count: Ints,
    clock: Floats,
    present: Ints,
    kind: Ints,
    born: Floats,
    number: Ints,
    unsent: Floats,
    flying: Ints,
    active: Ints,
    free: Ints,
    tags: Floats,
    head: Ints,
    length: Ints,
    last: Floats,
    through: Ints,
    coming: Ints,
    due: Floats,
    oldest: Ints,
    under_way: Ints,
    virtual: Floats,
    serving: Ints,
    ready: Floats,
    busy: Floats,
    area: Floats,
    stay: Floats,
    done: Ints,
    seen: Ints,
    wait: Floats,
) -> int:
    """Events in order until `horizon`, or until all measured flows have left.

    Parameters
    ----------
    rule : DRF, PF, BMF or NORMALISED.
    parallel : whether a packet asks all its resources at once, and is served when all have.
    delay (K,) : time from the last service of a packet until the next may be sent in its place.
    watched, until : flows numbered watched <= n < until are measured.
    service (K, R) : time a packet takes.
    block_kind, block_time, block_size : the next arrivals; count[NEXT] is the first not yet used.
    kind ... flying : by slot: class, arrival, number, packets not yet sent, packets on their way.
    active, free : slots of the flows in order of arrival, and slots not in use.
    tags, head, length (S, R, window), (S, R), (S, R) : start tags waiting, in rings.
    last (S, R), virtual (R,) : last start tag of a flow (0 before its first packet), tag in service
        at a resource.
    through (S, R) : in parallel, packets of a flow that a resource has served.
    coming, due (K, S window), oldest, under_way (K,) : slots of served packets that are not back
        yet, and when they will be, in a ring for each class.
    serving, ready, busy (R,) : whose packet is served (-1 none), until when, time spent serving
        what has begun.
    area, stay (K,) : integral of flows present, time in the system of flows that left.
    done (K,) : packets that are back; seen, wait (K,) : measured flows that left and their time.
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
        now = ready[j]
        k = -1  # the class whose packet comes back
        for other in range(classes):
            if under_way[other] > 0 and due[other, oldest[other]] < now:
                k = other
                now = due[other, oldest[other]]
        arrival = block_time[n] < now
        if arrival and count[ACTIVE] == len(kind):
            return SLOTS
        if arrival:
            now = block_time[n]
        if now > horizon:
            return DONE
        step = now - clock[0]
        for other in range(classes):
            area[other] += step * present[other]
        clock[0] = now
        onward = resources  # the resource that this packet goes on to
        back = False
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
                through[s, r] = 0
            flying[s] = int(min(float(window), block_size[n]))
            unsent[s] = block_size[n] - flying[s]
            count[SENT] += flying[s]
            for _ in range(flying[s]):
                send(s, parallel, rule, service, k, virtual, tags, head, length, last, serving)
            j = resource_after(service, k, -1)
        elif k >= 0:
            s = coming[k, oldest[k]]
            oldest[k] = (oldest[k] + 1) % coming.shape[1]
            under_way[k] -= 1
            back = True
        else:
            s = serving[j]
            k = kind[s]
            serving[j] = -1
            if parallel:
                whole = all_through(s, service, k, through)
                through[s, j] += 1
                back = all_through(s, service, k, through) > whole
            else:
                onward = resource_after(service, k, j)
                back = onward == resources
            if back and delay[k] > 0:
                at = (oldest[k] + under_way[k]) % coming.shape[1]
                coming[k, at] = s
                due[k, at] = now + delay[k]
                under_way[k] += 1
                back = False
            if onward < resources:
                enqueue(s, onward, rule, service, k, virtual, tags, head, length, last, serving)
        if back:
            done[k] += 1
            count[ENDED] += 1
            if unsent[s] > 0:
                unsent[s] -= 1
                count[SENT] += 1
                send(s, parallel, rule, service, k, virtual, tags, head, length, last, serving)
                onward = resource_after(service, k, -1)
            else:
                flying[s] -= 1
        if back and flying[s] == 0:
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
        for r in range(resources):
            if serving[r] < 0 and (parallel or r in (j, onward)):
                serve(
                    r,
                    now,
                    service,
                    active,
                    count[ACTIVE],
                    kind,
                    tags,
                    head,
                    length,
                    virtual,
                    serving,
                    ready,
                    busy,
                )
        if count[WATCHED] == until - watched:
            return DONE
