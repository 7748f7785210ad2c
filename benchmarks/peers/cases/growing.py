"""Growth with size: more users on ten servers; more servers for a thousand users."""

from __future__ import annotations

from functools import partial
from typing import Any

import fairopt as fo
from benchmarks.peers.registry import Case
from benchmarks.peers.sides import OURS
from fairopt.instance.generate import random_instance

USERS = (3, 10, 100, 1_000, 10_000, 100_000, 1_000_000)
SERVERS = (10, 30, 100, 300, 1_000)
_PEERS = ("cvxpy pairs, Clarabel", "cvxpy pairs, SCS")


def build(quick: bool, users: int, servers: int) -> tuple[fo.Instance, Any]:
    if quick:
        users, servers = min(users, 30), min(servers, 10)
    return random_instance(users, servers, 3, seed=16), fo.ProportionalFair()


CASES = (
    *(
        Case(
            f"users-{users}",
            "proportional fairness, 10 servers",
            "growth",
            partial(build, users=users, servers=10),
            (OURS, *_PEERS),
            rounds=3,
            limit=40,
            series="users",
            size=users,
        )
        for users in USERS
    ),
    *(
        Case(
            f"servers-{servers}",
            "proportional fairness, 1,000 users",
            "growth",
            partial(build, users=1000, servers=servers),
            (OURS, *_PEERS),
            rounds=3,
            limit=40,
            series="servers",
            size=servers,
        )
        for servers in SERVERS
    ),
)
