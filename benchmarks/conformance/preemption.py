"""Who gives way to a newcomer under Kueue's fair sharing (KEP 1714, rules S2-a, S2-b).

Of all queues that borrow, the one of the largest share gives way, found from the root down: at each
cohort the child of the largest share. Shares are compared where the two queues' paths meet, the
newcomer counted. S2-a: the newcomer's share is at most the other's after its workload has gone;
S2-b, where that is not enough: it is below what the other's was. Who asks within its own quota asks
no share. At last whoever can stay after all is left where it runs, the last chosen first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from fairopt.connect.readers.kueue import QueueNode, QuotaCell
from fairopt.connect.readers.kueue_share import KueueTree

Key = tuple[str, str]
Work = Mapping[str, Any]
OWN, RECLAIMED, FAIR = "InClusterQueue", "InCohortReclamation", "InCohortFairSharing"


class Scene:
    """The queues of a vector, what runs, and a newcomer; shares count the newcomer."""

    def __init__(self, case: Mapping[str, Any]) -> None:
        above = {q["parent"] for q in (*case["queues"], *case["cohorts"])} - {""}
        above -= {c["name"] for c in case["cohorts"]}
        self.queues = {q["name"]: _node(q) for q in case["queues"]}
        self.cohorts = {c["name"]: _node(c) for c in case["cohorts"]}
        self.cohorts |= {name: QueueNode(name, "", Fraction(1), {}) for name in above}
        self.policy = {q["name"]: q for q in case["queues"]}
        self.new: Work = case["incoming"]
        self.pair = (self.new["flavor"], "cpu")
        self.running: list[Work] = list(case["running"])

    def tree(self, counted: bool = True, without: Work | None = None) -> KueueTree:
        """The tree of shares, with or without the newcomer, and perhaps without a workload."""
        usage: dict[str, dict[tuple[str, str], Fraction]] = {name: {} for name in self.queues}
        for work in (*self.running, *([self.new] if counted else [])):
            if work is not without:
                own, pair = usage[work["queue"]], (work["flavor"], "cpu")
                own[pair] = own.get(pair, Fraction(0)) + Fraction(work["cpu"])
        return KueueTree(self.queues, self.cohorts, usage)

    def path(self, tree: KueueTree, queue: str) -> list[Key]:
        """A queue, its cohort, and so on to the root."""
        found: list[Key] = [("queue", queue)]
        while (above := tree.parent(found[-1])) is not None:
            found.append(above)
        return found

    def borrows(self, tree: KueueTree, queue: str) -> bool:
        """Whether a queue uses more than its quota of what is asked."""
        key = ("queue", queue)
        return tree.used(key, self.pair) > tree.quota(key, self.pair)

    def fits(self) -> bool:
        """Whether there is room for the newcomer; no vector limits lending or borrowing."""
        tree = self.tree(counted=False)
        root = self.path(tree, self.new["queue"])[-1]
        left = tree.quota(root, self.pair) - tree.used(root, self.pair)
        return left >= Fraction(self.new["cpu"])

    def candidates(self) -> list[Work]:
        """Who may be asked at all, others first, then by priority and name."""
        tree, own = self.tree(), self.new["queue"]
        root = self.path(tree, own)[-1]

        def asked(work: Work) -> bool:
            mine = work["queue"] == own
            policy = self.policy[own]["within" if mine else "reclaim"]
            if work["flavor"] != self.new["flavor"] or policy == "Never":
                return False
            if not mine:
                inside = self.path(tree, work["queue"])[-1] == root
                if not inside or not self.borrows(tree, work["queue"]):
                    return False
            return policy == "Any" or work["priority"] < self.new["priority"]

        return sorted(filter(asked, self.running), key=self.order)

    def order(self, work: Work) -> tuple[bool, int, str]:
        return work["queue"] == self.new["queue"], work["priority"], work["name"]

    def rivals(self, tree: KueueTree, queue: str) -> tuple[Key, Key]:
        """The nodes of the newcomer and of a queue right below where their paths meet."""
        mine, theirs = self.path(tree, self.new["queue"]), self.path(tree, queue)
        while mine[-1] == theirs[-1]:
            meet = mine.pop(), theirs.pop()
        assert meet[0] == meet[1]
        return mine[-1], theirs[-1]

    def first(
        self, tree: KueueTree, node: Key, waiting: Mapping[str, Sequence[Work]]
    ) -> str | None:
        """The queue at or below a node that is asked next; None if nobody is left there."""
        own = node in self.path(tree, self.new["queue"])
        if not own and not tree.share(node).borrowing:
            return None
        if node[0] == "queue":
            return node[1] if waiting.get(node[1]) else None
        found = []
        for child in tree.children(node):
            queue = self.first(tree, child, waiting)
            if queue is not None:
                head = self.order(waiting[queue][0])
                # of equal shares cohorts come first, then whose workload comes first
                found.append((share(tree, child), child[0] == "cohort", _backwards(head), queue))
        return max(found)[-1] if found else None


def preempted(case: Mapping[str, Any]) -> dict[str, str]:
    """{workload: why} of all that give way; empty if no choice of them makes room."""
    scene = Scene(case)
    gone: list[tuple[Work, str]] = []

    def takes(work: Work, why: str) -> bool:
        scene.running.remove(work)
        gone.append((work, why))
        return scene.fits()

    done, left = _first_rule(scene, case["rules"][0], takes)
    if not done and len(case["rules"]) > 1:
        done = _second_rule(scene, left, takes)
    if not done:
        return {}
    for work, why in reversed(gone[:-1]):
        scene.running.append(work)
        if scene.fits():
            gone.remove((work, why))
        else:
            scene.running.remove(work)
    return {work["name"]: why for work, why in gone}


def _first_rule(scene: Scene, rule: str, takes: Any) -> tuple[bool, list[Work]]:
    """Whether there is room now, and who was asked in vain."""
    waiting, refused = _by_queue(scene.candidates()), []
    within = not scene.borrows(scene.tree(), scene.new["queue"])
    while True:
        tree = scene.tree()
        queue = scene.first(tree, scene.path(tree, scene.new["queue"])[-1], waiting)
        if queue is None:
            return False, refused
        if queue == scene.new["queue"] or within:
            why = OWN if queue == scene.new["queue"] else RECLAIMED
            if takes(waiting[queue].pop(0), why):
                return True, []
            continue
        mine, theirs = scene.rivals(tree, queue)
        while waiting[queue]:
            work = waiting[queue].pop(0)
            after = share(scene.tree(without=work), theirs)
            now, before = share(tree, mine), share(tree, theirs)
            if now <= after if rule == "LessThanOrEqualToFinalShare" else now < before:
                if takes(work, FAIR):
                    return True, []
                break  # shares have changed: another queue may be first
            refused.append(work)


def _second_rule(scene: Scene, left: list[Work], takes: Any) -> bool:
    """S2-b, once a queue."""
    waiting = _by_queue(left)
    while True:
        tree = scene.tree()
        queue = scene.first(tree, scene.path(tree, scene.new["queue"])[-1], waiting)
        if queue is None:
            return False
        mine, theirs = scene.rivals(tree, queue)
        work = waiting.pop(queue)[0]
        if share(tree, mine) < share(tree, theirs) and takes(work, FAIR):
            return True


def share(tree: KueueTree, node: Key) -> tuple[bool, Fraction]:
    """To be compared: who borrows with weight 0 is above all others."""
    found = tree.share(node)
    return (True, found.ratio) if found.share is None else (False, found.share)


def _by_queue(works: Sequence[Work]) -> dict[str, list[Work]]:
    found: dict[str, list[Work]] = {}
    for work in works:
        found.setdefault(work["queue"], []).append(work)
    return found


def _backwards(head: tuple[bool, int, str]) -> tuple[bool, int, tuple[int, ...]]:
    """Larger for whoever comes first."""
    return not head[0], -head[1], (*(-ord(letter) for letter in head[2]), 1)


def _node(given: Mapping[str, Any]) -> QueueNode:
    limits = {
        (q["flavor"], q["resource"]): QuotaCell(Fraction(q["nominal"])) for q in given["quotas"]
    }
    return QueueNode(given["name"], given["parent"], Fraction(given["weight"]), limits)
