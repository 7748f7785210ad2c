"""Which nodes a pod may run on: tolerations, nodeSelector and required node affinity.

As the scheduler of Kubernetes has it: terms of an affinity are OR-ed, the expressions and fields
of a term AND-ed, and an empty term selects nothing. PreferNoSchedule and preferences bind nobody.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import cast

BINDING = ("NoSchedule", "NoExecute")
"""effects of taints that keep pods off a node"""
_INT64 = re.compile(r"[+-]?\d{1,19}", re.ASCII)


@dataclass(frozen=True, order=True)
class Taint:
    """A taint of a node."""

    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        return f"{self.key}{'=' if self.value else ''}{self.value}:{self.effect}"


@dataclass(frozen=True, order=True)
class Toleration:
    """A toleration of a pod; an empty key tolerates every key, an empty effect every effect."""

    key: str
    operator: str
    value: str
    effect: str

    def tolerates(self, taint: Taint) -> bool:
        """Whether this toleration tolerates the taint."""
        if self.effect not in ("", taint.effect) or self.key not in ("", taint.key):
            return False
        if self.operator in ("Lt", "Gt"):
            here, bound = _whole(taint.value), _whole(self.value)
            if here is None or bound is None:
                return False
            return here < bound if self.operator == "Lt" else here > bound
        return self.operator == "Exists" or taint.value == self.value


@dataclass(frozen=True, order=True)
class Requirement:
    """One expression over a label (or with `field` over a field) of a node."""

    key: str
    operator: str
    values: tuple[str, ...]
    field: bool = False

    def holds(self, name: str, labels: Mapping[str, str]) -> bool:
        """Whether the node of that name and labels is as required."""
        value = (
            (name if self.key == "metadata.name" else None) if self.field else labels.get(self.key)
        )
        if self.operator in ("In", "NotIn"):
            return (value is not None and value in self._known) == (self.operator == "In")
        if self.operator in ("Exists", "DoesNotExist"):
            return (value is not None) == (self.operator == "Exists")
        have, bound = _whole(value), _whole(self.values[0])
        if have is None or bound is None:
            return False
        return have > bound if self.operator == "Gt" else have < bound

    @property
    def _known(self) -> frozenset[str]:
        """The values, which are looked for on every node."""
        kept = self.__dict__.get("_set")
        if kept is None:
            kept = frozenset(self.values)
            object.__setattr__(self, "_set", kept)
        return cast(frozenset[str], kept)

    def __str__(self) -> str:
        listed = f" ({', '.join(self.values)})" if self.values else ""
        return f"{self.key} {self.operator}{listed}"


@dataclass(frozen=True, order=True)
class Rules:
    """What a pod asks of its node besides resources.

    Parameters
    ----------
    selector : (label, value) pairs, all of which the node must have.
    terms : None for no affinity; else terms, at least one of which must hold; each term is its
        requirements, all of which must hold.
    tolerations : the taints that do not keep the pod off.
    """

    selector: tuple[tuple[str, str], ...] = ()
    terms: tuple[tuple[Requirement, ...], ...] | None = None
    tolerations: tuple[Toleration, ...] = ()

    def __hash__(self) -> int:
        # asked for with every pod
        kept = self.__dict__.get("_hash")
        if kept is None:
            kept = hash((self.selector, self.terms, self.tolerations))
            object.__setattr__(self, "_hash", kept)
        return int(kept)

    def refused(self, name: str, labels: Mapping[str, str], taints: Iterable[Taint]) -> str | None:
        """The first rule that keeps the pod off a node, in words; None if it may run there."""
        return next(self.refusals(name, labels, taints), None)

    def refusals(
        self, name: str, labels: Mapping[str, str], taints: Iterable[Taint]
    ) -> Iterator[str]:
        """Every rule that keeps the pod off a node, in words."""
        for key, value in self.selector:
            if labels.get(key) != value:
                yield f"nodeSelector {key}={value}"
        if self.terms is not None and not any(
            all(need.holds(name, labels) for need in term) for term in self.terms if term
        ):
            yield self._affinity
        for taint in taints:
            if taint.effect in BINDING and not any(t.tolerates(taint) for t in self.tolerations):
                yield f"taint {taint}"

    @property
    def _affinity(self) -> str:
        """The terms in words, which are asked for with every node."""
        kept = self.__dict__.get("_words")
        if kept is None:
            words = " or ".join(map(_term, self.terms or ())) or "without a term"
            kept = f"node affinity {words}"
            object.__setattr__(self, "_words", kept)
        return str(kept)

    @property
    def names(self) -> Iterator[str]:
        """Names of nodes that the rules speak of."""
        for term in self.terms or ():
            for need in term:
                if need.field:
                    yield from need.values


def _term(term: tuple[Requirement, ...]) -> str:
    return " and ".join(map(str, term)) or "with an empty term"


def _whole(text: str | None) -> int | None:
    """The text as a whole number of 64 bits, None if it is none."""
    if text is None or not _INT64.fullmatch(text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None
