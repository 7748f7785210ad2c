"""Files of any kind that we read, together one cluster: Kubernetes, CSV tables, Slurm."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from fairopt import storage
from fairopt.connect import reading
from fairopt.connect.cluster import Cluster
from fairopt.connect.kubernetes import OWNER, UNDIVIDED, Collector
from fairopt.connect.tables import Tables
from fairopt.errors import BadInput
from fairopt.instance.reading import Faults

Told = Callable[[int, int], None] | None


def cluster(
    paths: Sequence[str],
    group_by: str = OWNER,
    undivided: Collection[str] = UNDIVIDED,
    weights: Mapping[str, float] | None = None,
    told: Told = None,
) -> Cluster:
    """The cluster that all files together describe, in whatever order they come.

    Parameters
    ----------
    paths : files, or "-" for standard input, plain or gzip: JSON or YAML as kubectl prints it, CSV
        tables (`tables`), what `scontrol show node -o` and `sshare -P` print.
    group_by, undivided : as of `kubernetes.Collector`.
    weights : weight of queues; 1 for those that are not named.
    told : called with (bytes read, bytes in all).

    Raises
    ------
    BadInput : with every fault, each with the name of its object and the field.
    """
    faults = Faults(" and ".join(storage.source_name(path) for path in paths))
    objects, tables = Collector(group_by, undivided, faults), Tables(faults)
    size, done = reading.sizes(paths), 0
    for path in paths:
        take_file(path, objects, tables, told, size, done)
        done += reading.sizes([path])
    found = objects.cluster(weights)
    return tables.joined(found) if tables else found


def take_file(
    path: str, objects: Collector, tables: Tables, told: Told = None, size: int = 0, done: int = 0
) -> None:
    """Take one file of any kind; `told`, `size` and `done` as of `reading.opened`.

    Raises
    ------
    BadInput : a file that cannot be read on, with what was wrong before.
    """
    source, faults = storage.source_name(path), objects.faults
    with reading.opened(path, told, size, done) as stream:
        try:
            first = reading.head(stream).removeprefix(b"\xef\xbb\xbf")
            if first.startswith((b"node,", b"team,")):
                tables.take(stream, source)
            elif first.startswith(b"NodeName="):
                tables.take_slurm(stream, source)
            elif first.startswith(b"Account|"):
                tables.take_shares(stream, source)
            else:
                for place, data, listed in reading.objects(stream, source):
                    objects.take(data, place, listed)
        except BadInput as error:
            # what was wrong before the file became unreadable is told as well
            faults.found.extend(error.faults)
            faults.stop()
