"""fairopt partition: users in pieces on disk, from a model or from tables of any size."""

from __future__ import annotations

import click

from fairopt.commands import output
from fairopt.errors import UsageError


@click.command("partition", context_settings={"max_content_width": 100})
@click.argument("source", nargs=-1, required=True)
@click.option(
    "--servers",
    metavar="FILE",
    help="A CSV file of servers: name, count, resources. SOURCE are tables of users.",
)
@click.option(
    "-o",
    "--output",
    "path",
    metavar="DIR",
    required=True,
    help="The folder for the partitions, with none in it.",
)
@click.option(
    "--users-per-part",
    "size",
    type=click.IntRange(min=1),
    default=100_000,
    show_default=True,
    metavar="N",
    help="Users of a partition.",
)
def command(source: tuple[str, ...], servers: str | None, path: str, size: int) -> int:
    """Write users in partitions, for `fairopt solve-partitions`.

    SOURCE is a model, or with --servers any number of tables of users (.parquet or .csv) or folders
    of them, larger than memory if need be: a column for each resource, and perhaps weight, limit,
    name, and servers (a list of names, in CSV with ; between them) or placement.SERVER for each.
    """
    from fairopt.files import read
    from fairopt.files.partition_tables import partition_tables
    from fairopt.files.partitions import write_partitions

    if servers is not None:
        found = partition_tables(source, servers, path, size)
    elif len(source) == 1:
        found = write_partitions(read(source[0]).instance, path, size)
    else:
        raise UsageError("several tables of users need --servers FILE, the table of their servers")
    users = sum(found.users(k) for k in range(len(found)))
    parts = f"{len(found)} partition{'s' if len(found) != 1 else ''}"
    output.to_stdout(f"{path}: {users} users in {parts}")
    return 0
