"""Rules for the objects of Kueue: cohorts, quotas, limits, flavors and weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from fairopt.connect.cluster.nodes import Node as Machine
from fairopt.connect.exports.shifting import Key, forest
from fairopt.connect.exports.taking import told
from fairopt.connect.lint.findings import Book, Lined, Path
from fairopt.connect.readers.kueue import Pair, QueueNode, Queues, QuotaCell
from fairopt.connect.readers.kueue_share import KueueTree

KIND = {"queue": "ClusterQueue", "cohort": "Cohort"}
Written = Mapping[tuple[str, str], Lined]
"""(kind, name) -> the object"""


def check(queues: Queues, written: Written, machines: Sequence[Machine], book: Book) -> None:
    """Add what is found.

    Parameters
    ----------
    queues : what was read. written : the objects it was read from.
    machines : nodes in service; none where no file has any.
    """
    _names(queues, written, book)
    circles = _circles(queues, written, book)
    _flavors(queues, written, machines, book)
    _weights(queues, written, book)
    if not circles:
        _limits(queues, written, book)


def where(own: Lined, pair: Pair) -> Path:
    """The path of the row of a flavor's resource in the object of a queue or cohort."""
    spec = own.data.get("spec") or {}
    for g, group in enumerate(spec.get("resourceGroups") or ()):
        for f, flavor in enumerate(group.get("flavors") or ()):
            for r, row in enumerate(flavor.get("resources") or ()):
                if (flavor.get("name"), row.get("name")) == pair:
                    return "spec", "resourceGroups", g, "flavors", f, "resources", r
    return ("spec", "resourceGroups")


def _names(queues: Queues, written: Written, book: Book) -> None:
    for kind, nodes in (("ClusterQueue", queues.queues), ("Cohort", queues.cohorts)):
        for name, node in nodes.items():
            own = written[kind, name]
            for flavor in dict.fromkeys(f for f, _ in node.quotas):
                if flavor not in queues.flavors:
                    pair = next(p for p in node.quotas if p[0] == flavor)
                    path = (*where(own, pair)[:-2], "name")
                    found = f"the flavor {flavor!r}, which no file has"
                    book.add(
                        "unknown-name", own, path, found, "add its ResourceFlavor, or name one"
                    )
    for (space, name), queue in queues.local.items():
        if queue not in queues.queues:
            own = written["LocalQueue", f"{space}/{name}"]
            found = f"the ClusterQueue {queue!r}, which no file has"
            fix = f"one of {', '.join(sorted(queues.queues)[:8]) or 'those you have'}"
            book.add("unknown-name", own, ("spec", "clusterQueue"), found, fix)


def _circles(queues: Queues, written: Written, book: Book) -> bool:
    seen: set[str] = set()
    for name in sorted(queues.cohorts):
        chain, at = [name], queues.cohorts[name].parent
        while at in queues.cohorts and at not in chain:
            chain.append(at)
            at = queues.cohorts[at].parent
        if at == name and not seen & set(chain):
            seen |= set(chain)
            found = f"the circle {' -> '.join([*chain, name])}"
            fix = "take away the parent of one of them"
            own = written["Cohort", name]
            key = "parentName" if ("spec", "parentName") in own.lines else "parent"
            book.add("cycle", own, ("spec", key), found, fix)
    return bool(seen)


def _flavors(queues: Queues, written: Written, machines: Sequence[Machine], book: Book) -> None:
    nodes: list[tuple[str, QueueNode]] = [("queue", n) for n in queues.queues.values()]
    nodes += [("cohort", n) for n in queues.cohorts.values()]
    used = {f for _, node in nodes for f, _ in node.quotas}
    members: dict[str, list[Machine]] = {}
    for name, flavor in sorted(queues.flavors.items()):
        own = written["ResourceFlavor", name]
        members[name] = [
            m for m in machines if all(m.labels.get(k) == v for k, v in flavor.labels.items())
        ]
        if name not in used and nodes:
            fix = "list it in a queue, or take it away"
            book.add("flavor-unused", own, (), "listed by no queue and no cohort", fix)
        elif machines and not members[name]:
            labels = ", ".join(f"{k}={v}" for k, v in sorted(flavor.labels.items()))
            found = f"no node in service has the labels {labels}"
            fix = "label the nodes it stands for, or take the flavor from its queues"
            book.add("flavor-without-nodes", own, ("spec", "nodeLabels"), found, fix)
    _overlaps(queues, written, members, book)
    if not machines:
        return
    for pair in sorted({p for _, node in nodes for p in node.quotas}):
        flavor_name, resource = pair
        if not members.get(flavor_name):
            continue
        rows = [(k, n, n.quotas[pair].nominal) for k, n in nodes if pair in n.quotas]
        promised = sum((x for _, _, x in rows), Fraction(0))
        there = sum(
            (m.count * m.allocatable.get(resource, Fraction(0)) for m in members[flavor_name]),
            Fraction(0),
        )
        if promised > there:
            kind, node, _ = min(rows, key=lambda row: (-row[2], row[1].name))
            own = written[KIND[kind], node.name]
            listed = ", ".join(f"{n.name} {told('', x).strip()}" for _, n, x in rows if x)
            found = (
                f"{told(resource, promised)} of flavor {flavor_name} in all ({listed}); "
                f"its nodes have {told(resource, there)}"
            )
            fix = f"cut nominal quotas to {told(resource, there)} together"
            book.add("promise-over-nodes", own, (*where(own, pair), "nominalQuota"), found, fix)


def _overlaps(
    queues: Queues, written: Written, members: Mapping[str, Sequence[Machine]], book: Book
) -> None:
    resources: dict[str, set[str]] = {}
    for node in (*queues.queues.values(), *queues.cohorts.values()):
        for flavor, resource in node.quotas:
            resources.setdefault(flavor, set()).add(resource)
    names = sorted(name for name in members if name in resources)
    for k, one in enumerate(names):
        for other in names[k + 1 :]:
            both = resources[one] & resources[other]
            theirs = {m.name for m in members[other]}
            shared = [m.name for m in members[one] if m.name in theirs]
            if both and shared:
                found = (
                    f"{len(shared)} nodes ({', '.join(shared[:3])}{' ...' if shared[3:] else ''}) "
                    f"are of {one} and of {other}, both for {', '.join(sorted(both))}"
                )
                fix = "labels that tell the nodes of the two apart"
                own = written["ResourceFlavor", other]
                book.add("flavor-overlap", own, ("spec", "nodeLabels"), found, fix)


def _weights(queues: Queues, written: Written, book: Book) -> None:
    for kind, nodes in (("ClusterQueue", queues.queues), ("Cohort", queues.cohorts)):
        for name, node in nodes.items():
            if not node.weight:
                found = "0: whatever it borrows counts as an infinite share"
                fix = "a weight above 0, unless it is meant to come last and be preempted first"
                path = ("spec", "fairSharing", "weight")
                book.add("weight-0", written[kind, name], path, found, fix)


def _limits(queues: Queues, written: Written, book: Book) -> None:
    tree = KueueTree(queues.queues, queues.cohorts, {})
    trees = forest(queues)
    for key, node in trees.nodes.items():
        own = written.get((KIND[key[0]], node.name))
        for pair, limits in node.quotas.items() if own is not None else ():
            assert own is not None
            path = where(own, pair)
            if not node.parent:
                _alone(key, limits, own, path, book)
            else:
                _inside(tree, key, pair, own, path, book)


def _alone(key: Key, limits: QuotaCell, own: Lined, path: Path, book: Book) -> None:
    above = "cohort" if key[0] == "queue" else "parent"
    for field, amount in (("borrowingLimit", limits.borrow), ("lendingLimit", limits.lend)):
        if amount is not None:
            found = f"a {field} without a {above}, which Kueue refuses"
            fix = f"take it away, or name a {above}"
            book.add("limit-without-cohort", own, (*path, field), found, fix)
    if key[0] == "queue" and not limits.nominal:
        found = "no quota, and no cohort to borrow from"
        fix = "a nominalQuota above 0, or a cohort"
        book.add("never-runs", own, (*path, "nominalQuota"), found, fix)


def _inside(tree: KueueTree, key: Key, pair: Pair, own: Lined, path: Path, book: Book) -> None:
    limits, resource = tree.nodes[key].quotas[pair], pair[1]
    above = tree.parent(key)
    assert above is not None
    quota = tree.quota(key, pair)
    if limits.lend is not None and limits.lend >= quota:
        where_ = (*path, "lendingLimit")
        if limits.lend > quota and key[0] == "queue":
            found = f"{told(resource, limits.lend)}, above the quota of {told(resource, quota)}"
            book.add("bad-value", own, where_, f"{found}, which Kueue refuses", "at most the quota")
        else:
            found = f"{told(resource, limits.lend)}, all there is to lend"
            fix = "take it away, or less than the quota"
            book.add("limit-never-binds", own, where_, found, fix)
    kept = Fraction(0) if limits.lend is None else max(Fraction(0), quota - limits.lend)
    outside = kept + tree.most(above, pair) - quota
    """what everybody else together could lend, if nothing were used"""
    if limits.borrow is not None and limits.borrow >= outside and limits.borrow > 0:
        others = f"others can lend at most {told(resource, outside)}"
        where_ = (*path, "borrowingLimit")
        if limits.borrow > outside:
            found = f"{told(resource, limits.borrow)}, though {others}"
            fix = f"at most {told(resource, outside)}, or more quota (or lendingLimit) beside it"
            book.add("cannot-borrow", own, where_, found, fix)
        else:
            found = f"{told(resource, limits.borrow)}, all that others can lend"
            book.add("limit-never-binds", own, where_, found, "take it away, or less")
    reach = outside if limits.borrow is None else min(outside, limits.borrow)
    if key[0] == "queue" and not limits.nominal and reach <= 0:
        why = "borrows none" if limits.borrow == 0 else "nobody can lend any"
        found = f"no quota of {resource}, and {why}"
        fix = "a nominalQuota or a borrowingLimit above 0, or quota in its cohort"
        book.add("never-runs", own, (*path, "nominalQuota"), found, fix)
