"""A scheduler's loop: seconds of each answer after a change, and tasks moved beside the least.

    OPENBLAS_NUM_THREADS=1 python -m benchmarks.loop --write docs/results/loop.md
    OPENBLAS_NUM_THREADS=1 python -m benchmarks.loop --steps 5 --users 60 --servers 20

`fo.Planner` on 500 users and 200 servers, of eight kinds or all different. At each step one thing
changes, of a kind drawn at random, and the planner is asked for the answer. Seconds are of the
processor and hold everything that `answer()` does, the certificate included. Every second changed
cluster is solved without `near` as well, from the answer of the step before and from nothing.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import fairopt as fo
from benchmarks.loop_served import KINDS, QUEUES, RESOURCES, line, served
from fairopt.solving import again as from_start

COLD_EVERY = 2
WANTED = 5.0
"""seconds between two questions"""
NOTIONS = (fo.ProportionalFair(), fo.MaxMin())


def cluster(users: int, servers: int, alike: bool, seed: int) -> fo.Instance:
    """Servers of a few kinds, where a user may run on all of a kind, or all different."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(KINDS, size=servers) if alike else np.arange(servers)
    kinds = int(kind.max()) + 1
    allowed = rng.random((users, kinds)) < 0.7
    allowed[np.arange(users), rng.integers(0, kinds, users)] = True
    return fo.Instance(
        rng.uniform(0.1, 1, (users, RESOURCES)).round(2),
        rng.uniform(5, 20, (kinds, RESOURCES))[kind],
        allowed[:, kind],
        rng.uniform(0.5, 2, users),
    )


def change(planner: fo.Planner, rng: np.random.Generator, step: int, alike: bool = False) -> str:
    """Change one thing, and say which; `alike`: a user that comes may run on all servers of a kind
    or none, and a node that comes is like another."""
    user = planner.users[rng.integers(len(planner.users))]
    server = planner.servers[rng.integers(len(planner.servers))]
    kind = str(
        rng.choice(["weight", "demand", "user comes", "user goes", "node comes", "node goes"])
    )
    if kind == "weight":
        planner.change_user(user, weight=rng.uniform(0.5, 2))
    elif kind == "demand":
        planner.change_user(user, demand=rng.uniform(0.1, 1, RESOURCES).round(2))
    elif kind == "user comes":
        now = planner.instance()
        like = np.unique(now.capacity, axis=0, return_inverse=True)[1].ravel()
        like = like if alike else np.arange(len(like))
        kinds = rng.random(int(like.max()) + 1) < 0.7
        some = [name for name, k in zip(now.servers, like.tolist(), strict=True) if kinds[k]]
        planner.add_user(f"came{step}", rng.uniform(0.1, 1, RESOURCES).round(2), servers=some)
    elif kind == "user goes":
        planner.remove_user(user)
    elif kind == "node comes":
        now, size = planner.instance(), rng.uniform(5, 20, RESOURCES)
        open_ = rng.random(len(now.users)) < 0.7
        if alike:
            k = now.servers.index(server)
            size, open_ = now.capacity[k], now.eligible[:, k]
        some = [name for name, on in zip(now.users, open_.tolist(), strict=True) if on]
        planner.add_server(f"came{step}", size, users=some)
    else:
        planner.remove_server(server)
    return kind


@dataclass
class Row:
    """One loop: of each step the seconds, the tasks moved, the least, and those without near."""

    notion: str
    servers: str
    first: float = 0.0
    tasks: float = 0.0
    megabytes: float = 0.0
    seconds: list[float] = field(default_factory=list)
    cold: list[float] = field(default_factory=list)
    again: list[float] = field(default_factory=list)
    proof: list[float] = field(default_factory=list)
    begun: list[bool] = field(default_factory=list)
    moved: list[float] = field(default_factory=list)
    least: list[float] = field(default_factory=list)
    before: list[float] = field(default_factory=list)
    used: list[bool] = field(default_factory=list)
    certified: list[bool] = field(default_factory=list)

    def cells(self) -> list[str]:
        steps = len(self.seconds)
        late = sum(seconds > WANTED for seconds in self.seconds)
        beyond = [
            a - b for a, b, used in zip(self.moved, self.least, self.used, strict=True) if used
        ]
        return [
            self.notion,
            self.servers,
            f"{self.first:.2f}",
            f"{np.median(self.seconds):.2f}",
            f"{np.quantile(self.seconds, 0.99):.2f}",
            f"{late}/{steps}",
            f"{np.median(self.again):.3f}" if self.again else "",
            f"{np.median(self.proof):.3f}" if self.again else "",
            f"{sum(self.begun)}/{len(self.begun)}",
            f"{np.median(self.cold):.2f}" if self.cold else "",
            f"{np.median(np.divide(self.again, self.cold)):.2f}" if self.cold else "",
            f"{sum(self.certified)}/{steps}",
            f"{sum(self.used)}/{steps}",
            f"{self.tasks:,.0f}",
            f"{np.median(self.before):.1f}",
            f"{np.median(self.moved):.2f}",
            f"{np.median(self.least):.2f}",
            f"{max(beyond, default=0.0):.1g}",
            f"{self.megabytes:+.0f}",
        ]


HEAD = (
    "notion",
    "servers",
    "first, s",
    "median, s",
    "99 %, s",
    f"beyond {WANTED:g} s",
    "again, s",
    "proof of it, s",
    "from the start",
    "cold, s",
    "again / cold",
    "certified",
    "near used",
    "tasks",
    "without near",
    "stop and start",
    "least",
    "most above it",
    "MB",
)


@contextmanager
def proving() -> Iterator[list[float]]:
    """The seconds that an answer from a start spends in the judge, one number a call."""
    seconds: list[float] = []
    kept = from_start.certify, from_start.searched_once

    def timed(judge: Callable[..., Any]) -> Callable[..., Any]:
        def run(*given: Any) -> Any:
            begin = time.process_time()
            try:
                return judge(*given)
            finally:
                seconds.append(time.process_time() - begin)

        return run

    from_start.certify, from_start.searched_once = map(timed, kept)  # type: ignore[assignment]
    try:
        yield seconds
    finally:
        from_start.certify, from_start.searched_once = kept


def loop(
    notion: fo.MaxMin | fo.ProportionalFair,
    inst: fo.Instance,
    named: str,
    steps: int,
    most: float = np.inf,
    alike: bool = False,
) -> Row:
    """One loop of so many changes, or of fewer if their answers take `most` seconds."""
    rng = np.random.default_rng(1)
    row = Row(notion.name, named)
    planner = fo.Planner(inst, notion)
    begin = time.process_time()
    last = fo.solve(inst, notion)
    row.tasks = float(planner.answer().tasks.sum())
    row.first = time.process_time() - begin
    size = 0.0
    for step in range(steps):
        if sum(row.seconds) > most:
            break
        change(planner, rng, step, alike)
        begin = time.process_time()
        answer = planner.answer()
        row.seconds.append(time.process_time() - begin)
        near, proof = answer.steps[-1], answer.certificate
        row.moved.append(near["stopped"] + near["started"])
        row.least.append(near.get("bound", 0.0))
        row.before.append(near["before"])
        row.used.append(near["status"] == "used")
        row.certified.append(proof is not None and proof.certified)
        if step % COLD_EVERY == 0:
            fresh = planner.instance()
            begin = time.process_time()
            with proving() as seconds:
                told = fo.solve(fresh, notion, start=last)
            row.again.append(time.process_time() - begin)
            row.proof.append(sum(seconds))
            row.begun.append(told.steps[0].get("status") == "used")
            begin = time.process_time()
            fo.solve(fresh, notion)
            row.cold.append(time.process_time() - begin)
        now = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        if (step + 1) % COLD_EVERY == 0:  # the answer before the next one that is asked again
            last = fo.solve(planner.instance(), notion)
        size = size if step > steps // 4 else now
        row.megabytes = now - size
    return row


def page(found: list[Row], users: int, servers: int, steps: int, seconds: float) -> str:
    """The page of results."""
    table = [line(list(HEAD)), line(["---"] * len(HEAD)), *(line(row.cells()) for row in found)]
    late = sum(seconds > WANTED for row in found for seconds in row.seconds)
    every = sum(len(row.seconds) for row in found)
    unused = sum(not used for row in found for used in row.used)
    command = f"benchmarks.loop --steps {steps} --seconds {seconds:g} --write docs/results/loop.md"
    return f"""# A scheduler's loop

`fo.Planner` on {users} users and {servers} servers with {RESOURCES} resources: of {KINDS} kinds,
where a user may run on 7 of 10 kinds, or all different. {steps} steps in each row, or as many as
begin within {seconds:g} seconds of answers; at each a weight or a demand changes, or a user or a
node comes or goes, and the planner is asked for the answer.
Seconds of the processor with one BLAS thread, as others used the machine too; proof included.

```sh
OPENBLAS_NUM_THREADS=1 python -m {command}
```

{chr(10).join(table)}

Within {WANTED:g} seconds came {every - late} of {every} answers. *Cold* is the median of the answer
from nothing and without `near`, at every second step, *again* that from the answer of the step
before, without `near` too, *proof of it* what of that the judge takes; *from the start* counts the
answers that were reached so, as others are solved anew. *Without near* is how many tasks the answer
before `near` would stop and start, *stop and start* how many the planner's did, *least* what any
optimal answer must, all medians; *most above it* is the largest difference of the two in any step
whose nearest answer was used. In {unused} steps it was not used, as the certificate accepted less
than of the answer given. *MB* is what the largest size of the process grew in the last three
quarters of the loop.

## Where the time of an answer again goes

A tenth of cold was wanted when cold took .34 to .4 s here; cold is faster since, and *again*
takes as long as a tenth of it did. The column *again / cold* is beside cold as it is now. Servers
of few kinds are merged both from nothing and from the start: cold then solves {KINDS} servers
in .04 s, of which an answer again can leave out the solving alone. What
stays is what no start spares: looking for what is alike among 100,000 pairs, and the proof,
which reads every pair. Servers of the same prices are proved as one (`certificates/pooled.py`),
which takes a third of the time of moving all 70,000 pairs that hold something together; the
rest of it are exact sums over these pairs. A sparse answer (1,097 pairs) on unlike servers is
proved in half of that; one of 1,074 pairs on servers of {KINDS} kinds, which has no tasks where
the point nearby has some, is searched pair by pair, in 2.7 s. No part of a proof is left out,
as the bound is of the changed cluster. Where an answer is not reached from the start it is
solved anew, and *again* is then cold and the attempt: a node that comes unlike all others under
max-min. Max-min with servers of few kinds (merged to a quarter of the pairs or less, and few) does
not look for a start at all, as reading the last answer took longer than solving: *again* is cold.

Before, the servers said to be of few kinds were not: one more server drawn for each user, and
users and nodes that came unlike all others, left 108 and then 200 of them unlike. There *again*
took .17 s of .24 (proportional) and .13 of .24 (max-min), and .09 of .31 with servers all
different (proportional).

## Asked over HTTP

`fairopt serve` on a plan of {users} workloads in {QUEUES} queues on {servers} nodes, max-min, asked
by an HTTP client: seconds of the processor, of client and server together, of `/api/what-if` (who
loses) and of `/api/moves` (what stops and starts), which the page asks second.

{chr(10).join(asked_for(users, servers))}
Those who have all they ask are stopped along the path of targets, between programs (from 1,000
pairs on), and whatever is asked of a change, it is proved once: the point nearby that proves what
everybody is due proves the answer with the fewest moves too. The judge follows groups of users by a
few numbers each, and works out what a round's prices cost for the columns that cost something.
Under a second was wanted: met but on unlike nodes with limits, and but for some hundredths where
half of all have what they ask. What stays there is the proof in exact fractions, two thirds of the
time: it looks at every round, one of each workload that has all it asks, and at 70,000 tasks.

How to ask: [few moves](../how-to/few-moves.md).
"""


ASKED = (None, (5, 39), (2, 19))
"""tasks that workloads ask for, least and most"""


def asked_for(users: int, servers: int) -> Iterator[str]:
    """Tables of changes asked of plans that are served."""
    for asked in ASKED:
        for alike in (True, False):
            nodes = f"of {KINDS} kinds" if alike else "all different"
            each = (
                "No workload has a limit"
                if asked is None
                else "{} to {} tasks asked".format(*asked)
            )
            table, took = served(users, servers, alike, asked)
            yield from (f"{each}, nodes {nodes}; the plan is {took}:", "", *table, "")
    for asked in ASKED[1:]:
        table, took = served(users, servers, True, asked, kueue=True)
        each = "Kueue's quotas, {} to {} tasks asked".format(*asked)
        yield from (f"{each}, nodes of {KINDS} kinds; the plan is {took}:", "", *table, "")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--seconds", type=float, default=90.0, help="of answers in each loop")
    parser.add_argument("--users", type=int, default=500)
    parser.add_argument("--servers", type=int, default=200)
    parser.add_argument("--notion", choices=[notion.name for notion in NOTIONS])
    parser.add_argument("--write", type=Path)
    settings = parser.parse_args()
    found: list[Row] = []
    print(line(list(HEAD)), flush=True)
    for alike in (True, False):
        inst = cluster(settings.users, settings.servers, alike, 0)
        for notion in NOTIONS:
            if settings.notion not in (None, notion.name):
                continue
            told = f"of {KINDS} kinds" if alike else "all different"
            found.append(loop(notion, inst, told, settings.steps, settings.seconds, alike))
            print(line(found[-1].cells()), flush=True)
    if settings.write:
        text = page(found, settings.users, settings.servers, settings.steps, settings.seconds)
        settings.write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
