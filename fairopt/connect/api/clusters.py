"""A cluster in Python: what was read, and how it is planned."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from fairopt import markup
from fairopt.connect.api.plans import Plan, framed
from fairopt.connect.cluster import nodes
from fairopt.connect.cluster.record import ClusterRecord as Read
from fairopt.connect.plan.problem import ClusterProblem
from fairopt.connect.plan.problem import problem as problem_of
from fairopt.connect.readers import sources
from fairopt.connect.readers.kubernetes import OWNER, UNDIVIDED
from fairopt.errors import UsageError
from fairopt.exact import as_printed

if TYPE_CHECKING:
    from pandas import DataFrame

    from fairopt.instance import Instance
    from fairopt.notions import Notion

Given = Any
"""a path, an object of Kubernetes (a dict, such as a List), a list of these, or a frame"""


class Cluster:
    """A real cluster: its nodes, and the workloads that share them.

    Made by `kubernetes`, `kueue` and `tables`; nothing of it changes.

    Parameters
    ----------
    read : what was read.
    gpu_kinds : kinds of cards with their speed, as the option --gpu-kind of `fairopt plan`.
    see : labels that tell nodes apart although no pod asks for them.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from fairopt import connect
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "nodes.csv").write_text("node,cpu,memory,count\\nn,8,32Gi,2\\n")
    >>> _ = (folder / "teams.csv").write_text("team,cpu,memory,tasks\\na,1,4Gi,20\\nb,2,2Gi,9\\n")
    >>> cluster = connect.tables(folder / "nodes.csv", folder / "teams.csv")
    >>> print(cluster)
    Cluster(2 nodes, 2 queues, 2 workloads)
    """

    def __init__(
        self, read: Read, gpu_kinds: Sequence[str] = (), see: Collection[str] = ()
    ) -> None:
        self.read = read
        self.gpu_kinds = tuple(gpu_kinds)
        self.see = tuple(see)

    @cached_property
    def problem(self) -> ClusterProblem:
        """The cluster as an instance, with the exact amounts beside it.

        Raises
        ------
        BadInput : no node is in service, or no workload has a place.
        """
        return problem_of(self.read, [nodes.parsed(text) for text in self.gpu_kinds], self.see)

    @property
    def instance(self) -> Instance:
        """The instance: a user for each workload, a server for each shape of nodes."""
        return self.problem.instance

    @property
    def queues(self) -> tuple[str, ...]:
        """Names of the queues."""
        return tuple(self.read.queues)

    def plan(
        self,
        notion: Notion | None = None,
        *,
        whole: bool | None = None,
        stay: bool = False,
        within: Fraction | float = 0,
        seconds: float | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> Plan:
        """Who is due what, why, and on which node; as `fairopt plan` has it.

        Parameters
        ----------
        notion : what is fair; default max-min of dominant shares, queue by queue.
        whole : prove how near whole tasks come to what is due; None: of small clusters only.
        stay : keep as many running tasks where they are as the totals allow, proved.
        within : with `stay`, the part that everybody may have less, from 0 to 1.
        seconds : of the search for whole tasks; None for as long as it takes.
        progress : called with (done, of) while a long sequence of programs is solved.

        Returns
        -------
        Plan, with its verdict; one that is not certified is returned as well.

        Raises
        ------
        BadInput, Infeasible, SolverFailure : as of `fo.solve`.
        """
        from fairopt.connect.plan import made as plan
        from fairopt.connect.plan.staying import Moving
        from fairopt.connect.plan.whole_tasks import chosen

        part = Fraction(within) if isinstance(within, Fraction) else as_printed(within)
        if not 0 <= part <= 1:
            raise UsageError(f"within: found {within!r}; wanted a part from 0 to 1")
        if part and not stay:
            raise UsageError("within belongs to stay=True")
        if seconds is not None and not (whole or stay):
            raise UsageError("seconds belongs to whole=True or stay=True")
        proving = chosen(self.problem, False if whole is None and stay else whole, seconds)
        moving = Moving(part, seconds=seconds) if stay else None
        return Plan(plan.make(self.problem, notion, progress, proving, moving))

    def to_frame(self, what: str = "workloads") -> DataFrame:
        """The nodes or the workloads as they were read.

        Parameters
        ----------
        what : "workloads" or "nodes".

        Raises
        ------
        UsageError : something else. MissingExtra : without pandas.
        """
        if what == "nodes":
            rows = [
                {"node": own.name, "count": own.count, "out": own.out, **_floats(own.allocatable)}
                for own in self.read.nodes
            ]
            return framed(rows, "node")
        if what != "workloads":
            raise UsageError(f"to_frame: found {what!r}; wanted 'workloads' or 'nodes'")
        work = [
            {
                "queue": own.queue,
                "workload": own.name,
                "asked": own.asked,
                "held": sum(own.held.values()),
                **_floats(own.demand),
            }
            for own in self.read.workloads
        ]
        return framed(work, "workload")

    def __repr__(self) -> str:
        nodes = sum(own.count for own in self.read.nodes)
        work = len(self.read.workloads)
        return f"Cluster({nodes} nodes, {len(self.queues)} queues, {work} workloads)"

    def _repr_html_(self) -> str:
        rows = (
            [own.queue, own.name, "any" if own.asked is None else own.asked, sum(own.held.values())]
            for own in self.read.workloads
        )
        head = ["queue", "workload", "asked", "held"]
        many = len(self.read.workloads)
        return markup.block(markup.line(repr(self)), markup.table("Workloads", head, rows, many))


def kubernetes(
    *given: Given,
    group_by: str = OWNER,
    undivided: Collection[str] = UNDIVIDED,
    weights: Mapping[str, float] | None = None,
    gpu_kinds: Sequence[str] = (),
    see: Collection[str] = (),
) -> Cluster:
    """A cluster of Kubernetes, of what `kubectl get nodes,pods -A -o json` prints.

    Parameters
    ----------
    given : paths, or objects as dicts (a List, one object), or lists of objects; together they are
        one cluster. Queues of Kueue, Volcano, KAI and YuniKorn are known.
    group_by : what is one workload: "owner", "namespace" or "label=KEY".
    undivided : namespaces whose pods are taken off their nodes first.
    weights : weight of queues; 1 for those that are not named.
    gpu_kinds, see : as of `Cluster`.

    Raises
    ------
    BadInput : with every fault, each with the name of its object and the field.
    UsageError : a weight of a queue that there is not.

    Examples
    --------
    >>> from fairopt import connect
    >>> node = {"kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "8"}}}
    >>> pod = {"kind": "Pod", "metadata": {"name": "p", "namespace": "team"}}
    >>> pod["spec"] = {"nodeName": "n", "containers": [{"resources": {"requests": {"cpu": "2"}}}]}
    >>> pod["status"] = {"phase": "Running"}
    >>> print(connect.kubernetes([node, pod]))
    Cluster(1 nodes, 1 queues, 1 workloads)
    """
    read = sources.Sources("what was given", group_by, undivided)
    for k, own in enumerate(given):
        _take(own, f"argument {k + 1}", read)
    cluster = Cluster(read.cluster(weights), gpu_kinds, see)
    unknown = sorted((weights or {}).keys() - set(cluster.queues))
    if unknown:
        known = ", ".join(cluster.queues[:8])
        raise UsageError(f"weights: found the queue {unknown[0]!r}; wanted one of {known}")
    return cluster


def kueue(*given: Given, **options: Any) -> Cluster:
    """A cluster divided by the queues of Kueue; `given` and `options` as of `kubernetes`.

    Raises
    ------
    UsageError : no object of Kueue among what is given.

    Examples
    --------
    >>> from fairopt import connect
    >>> node = {"kind": "Node", "metadata": {"name": "n"}, "status": {"allocatable": {"cpu": "8"}}}
    >>> pod = {"kind": "Pod", "metadata": {"name": "p", "namespace": "team"}}
    >>> pod["spec"] = {"nodeName": "n", "containers": [{"resources": {"requests": {"cpu": "2"}}}]}
    >>> pod["status"] = {"phase": "Running"}
    >>> quota = {"name": "cpu", "nominalQuota": "8"}
    >>> group = {"coveredResources": ["cpu"], "flavors": [{"name": "any", "resources": [quota]}]}
    >>> queue = {"kind": "ClusterQueue", "apiVersion": "kueue.x-k8s.io/v1beta1"}
    >>> queue["metadata"] = {"name": "q"}
    >>> flavor = {"kind": "ResourceFlavor", "metadata": {"name": "any"}, "spec": {}}
    >>> flavor["apiVersion"] = queue["apiVersion"]
    >>> queue["spec"] = {"resourceGroups": [group]}
    >>> local = {"kind": "LocalQueue", "apiVersion": "kueue.x-k8s.io/v1beta1"}
    >>> local |= {"metadata": {"name": "l", "namespace": "team"}, "spec": {"clusterQueue": "q"}}
    >>> print(connect.kueue([node, pod, queue, local, flavor]))
    Cluster(1 nodes, 1 queues, 1 workloads)
    """
    found = kubernetes(*given, **options)
    if found.read.kueue is None:
        raise UsageError("kueue: found no object of Kueue; wanted its ClusterQueues and more")
    return found


def tables(
    nodes: Given, teams: Given, held: Given = None, *, gpu_kinds: Sequence[str] = (), **options: Any
) -> Cluster:
    """A cluster of tables: paths of CSV files, or frames with the same columns.

    Parameters
    ----------
    nodes : node, then count, out, label:KEY, and a column a resource.
    teams : team, then queue, weight, tasks, nodes, label:KEY, and a column a resource.
    held : team, node, tasks.
    gpu_kinds, options : as of `kubernetes`.

    Raises
    ------
    BadInput : with every fault, each with its line and column.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from fairopt import connect
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "nodes.csv").write_text("node,cpu,memory,count\\nn,8,32Gi,2\\n")
    >>> _ = (folder / "teams.csv").write_text("team,cpu,memory,tasks\\na,1,4Gi,20\\nb,2,2Gi,9\\n")
    >>> cluster = connect.tables(folder / "nodes.csv", folder / "teams.csv")
    >>> print(cluster)
    Cluster(2 nodes, 2 queues, 2 workloads)
    """
    given = [own for own in (nodes, teams, held) if own is not None]
    return kubernetes(*given, gpu_kinds=gpu_kinds, **options)


def _take(own: Given, place: str, read: sources.Sources) -> None:
    if isinstance(own, str | os.PathLike):
        read.take_file(os.fspath(own))
    elif isinstance(own, Mapping):
        read.take(own, place)
    elif hasattr(own, "to_csv"):
        # a column of whole numbers with a gap is one of floats in pandas, 20.0
        text = cast(str, own.convert_dtypes().to_csv(index=False)).encode()
        read.tables.take(io.BytesIO(text), place)
    elif isinstance(own, Sequence):
        for k, each in enumerate(own):
            _take(each, f"{place}[{k}]", read)
    else:
        found = type(own).__name__
        raise UsageError(f"{place}: found {found}; wanted a path, a dict, a list or a frame")


def _floats(amounts: Mapping[str, Fraction]) -> dict[str, float]:
    return {key: float(amount) for key, amount in amounts.items()}
