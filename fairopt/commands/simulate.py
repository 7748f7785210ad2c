"""fairopt simulate: users that arrive and leave, and servers that act by themselves.

KINDS is the one table. To add a kind: a file with a click command named `command`, which prints
{"schema": SCHEMA, "kind": ...} with --json, and a line here.
"""

from __future__ import annotations

import click

from fairopt.commands.lazy import Lazy

SCHEMA = "fairopt/simulation/v1"
# name -> (module below fairopt.commands, one line for `fairopt simulate --help`)
KINDS: dict[str, tuple[str, str]] = {
    "markov": ("simulate_markov", "Mean service rates under random demand, by a Markov chain."),
    "lying": ("simulate_lying", "What a lie gains while others come and go."),
    "tasks": ("simulate_tasks", "Jobs of many tasks come to one pool and leave."),
    "packets": ("simulate_packets", "Flows of packets visit the resources in turn."),
    "online": ("simulate_online", "Frameworks arrive and leave; nothing is revoked."),
    "prices": ("simulate_prices", "Proportional fairness by prices that each resource sets."),
    "servers": ("simulate_servers", "Each server keeps PS-DSF by itself while users come and go."),
}


@click.group("simulate", cls=Lazy, table=KINDS)
def command() -> None:
    """Tasks over time: users that arrive and leave, servers that act by themselves."""
