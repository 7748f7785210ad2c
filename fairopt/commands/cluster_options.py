"""The options by which files become a problem, shared by `plan` and `import`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from fairopt import storage
from fairopt.commands import progress
from fairopt.errors import UsageError

if TYPE_CHECKING:
    from fairopt.connect.cluster.record import ClusterRecord
    from fairopt.connect.plan.problem import ClusterProblem
    from fairopt.connect.readers.kueue import Queues as KueueQueues

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--group-by",
        default="owner",
        show_default=True,
        metavar="HOW",
        help="What is one workload: the pods of an owner, of a namespace, or of one value of a "
        "label (label=KEY).",
    ),
    click.option(
        "--undivided",
        multiple=True,
        metavar="NAMESPACE",
        help="Pods of this namespace are taken off their nodes, as those of DaemonSets are; may "
        "be given several times.  [default: kube-system]",
    ),
    click.option(
        "--gpu-kind",
        "gpu_kinds",
        multiple=True,
        metavar="LABEL=KIND:SPEED,...",
        help="Kinds of cards and how fast tasks run on them, such as "
        "nvidia.com/gpu.product=A100:1,T4:.4.",
    ),
    click.option(
        "--cards",
        multiple=True,
        metavar="RESOURCE",
        help="A resource of which 1 is a card: a task takes part of a single card, or whole "
        "cards; may be given several times.",
    ),
    click.option(
        "--weight",
        "weights",
        multiple=True,
        metavar="QUEUE=WEIGHT",
        help="Weight of a queue; may be given several times.  [default: 1]",
    ),
    click.option(
        "--see",
        multiple=True,
        metavar="LABEL",
        help="A label that tells nodes apart although no pod asks for it; may be given several "
        "times.",
    ),
)


def options(command: F) -> F:
    """Add the options to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def problem(
    files: Sequence[str], given: Mapping[str, Any], kind: str | None = None
) -> ClusterProblem:
    """The problem of files of a cluster, or of one model.

    Parameters
    ----------
    given : the options. kind : what must be among the files (`sources.FORMATS`); None for any.

    Raises
    ------
    BadInput, UsageError : with everything that is wrong with files or options.
    """
    from fairopt.connect.plan import models

    if models.is_model(files):
        if any(given[key] for key in ("undivided", "gpu_kinds", "weights", "see", "cards")):
            raise UsageError("a model says itself what its queues and nodes are; wanted no options")
        return models.problem(files[0])
    return _problem(cluster(files, given, kind), files, given)


def cluster(
    files: Sequence[str], given: Mapping[str, Any], kind: str | None = None
) -> ClusterRecord:
    """What files of a cluster describe, before anything is asked of it; as `problem` otherwise."""
    from fairopt.connect.readers import sources
    from fairopt.connect.readers.kubernetes import UNDIVIDED

    weights = dict(_weight(text) for text in given["weights"])
    with progress.shown("reading", unit="bytes") as told:
        found = sources.cluster(
            files, given["group_by"], given["undivided"] or UNDIVIDED, weights, told, kind
        )
    unknown = sorted(weights.keys() - set(found.queues))
    if unknown:
        known = ", ".join(found.queues[:8])
        raise UsageError(f"--weight: found the queue {unknown[0]!r}; wanted one of {known}")
    return found


def problem_or_queues(
    files: Sequence[str], given: Mapping[str, Any]
) -> ClusterProblem | KueueQueues:
    """The problem; of Kueue's objects without anything to divide, Kueue's queues."""
    from fairopt.connect.plan import models

    if models.is_model(files):
        return problem(files, given)
    found = cluster(files, given)
    if found.kueue is not None and found.kueue.queues and not found.workloads:
        return found.kueue
    return _problem(found, files, given)


def _problem(
    found: ClusterRecord, files: Sequence[str], given: Mapping[str, Any]
) -> ClusterProblem:
    from fairopt.connect.cluster import nodes
    from fairopt.connect.plan import problem as problems

    cards = [nodes.parsed(text) for text in given["gpu_kinds"]]
    source = " and ".join(storage.source_name(path) for path in files)
    made = problems.problem(replace(found, cards=given["cards"]), cards, given["see"], source)
    for name in given["cards"]:
        if name not in made.instance.resources:
            known = ", ".join(made.instance.resources)
            raise UsageError(f"--cards: found {name!r}; wanted one of {known}")
    return made


def _weight(text: str) -> tuple[str, float]:
    name, _, number = text.rpartition("=")
    try:
        weight = float(number)
    except ValueError:
        weight = 0.0
    if not name or not 0 < weight < float("inf"):
        raise UsageError(f"--weight: found {text!r}; wanted QUEUE=WEIGHT, a weight above 0")
    return name, weight
