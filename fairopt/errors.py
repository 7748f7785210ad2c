"""One tree of errors, one exit code each (docs/reference/exit-codes.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any


def printable(text: str, keep: str = "\n") -> str:
    """Text in which no character acts on a terminal: all but `keep` are written as \\uXXXX.

    Titles, unknown keys and names of files come from an input and are printed in messages: they
    must not move the cursor of the terminal. In JSON and TOML the escapes are the same characters.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else escaped(c) for c in text)


def escaped(character: str) -> str:
    """A character as \\uXXXX; one beyond 16 bits as two of these."""
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[k]:02x}{units[k + 1]:02x}" for k in range(0, len(units), 2))


@dataclass(frozen=True, order=True)
class Fault:
    """One fault of an input: where it is, what was found there, what was wanted.

    Examples
    --------
    >>> from fairopt.errors import Fault
    >>> print(Fault('users.a.weight', '-1', 'a finite number > 0'))
    users.a.weight: found -1; wanted a finite number > 0
    """

    place: str
    found: str
    wanted: str

    def __str__(self) -> str:
        return printable(f"{self.place}: found {self.found}; wanted {self.wanted}", keep="")


class FairoptError(Exception):
    """Root of every error that fairopt raises on purpose.

    Examples
    --------
    >>> import fairopt as fo
    >>> try:
    ...     fo.Instance([[-1]], [[1]])
    ... except fo.FairoptError as error:
    ...     print(type(error).__name__)
    BadInput
    """

    exit_code = 1


class BadInput(FairoptError, ValueError):
    """The input is wrong; `faults` lists every fault found.

    Parameters
    ----------
    faults : the faults, at least one, reported together.
    source : name of the file (or "<stdin>") the faults are in, if any.

    Examples
    --------
    >>> import fairopt as fo
    >>> fo.Instance([[-1]], [[1]])
    Traceback (most recent call last):
        ...
    fairopt.errors.BadInput: 1 fault
      users.u1.demand.r1: found -1; wanted a finite number >= 0
    """

    exit_code = 2

    def __init__(self, faults: Iterable[Fault], source: str | None = None) -> None:
        self.faults = tuple(faults)
        self.source = source
        super().__init__(self._text())

    def _text(self) -> str:
        count = len(self.faults)
        head = f"{count} fault{'s' if count != 1 else ''}"
        if self.source is not None:
            head = f"{printable(self.source, keep='')}: {head}"
        return "\n".join([head, *(f"  {fault}" for fault in self.faults)])

    def within(self, source: str) -> BadInput:
        """The same faults, with `source` as the name of their file."""
        return BadInput(self.faults, source)

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.faults, self.source))


class UsageError(FairoptError, ValueError):
    """A call that makes no sense: an unknown name, options that exclude each other.

    Examples
    --------
    >>> import fairopt as fo
    >>> try:
    ...     fo.read("whole/no-such-model")
    ... except fo.UsageError as error:
    ...     print(str(error).partition(";")[0])
    model: found 'whole/no-such-model'
    """

    exit_code = 2


class MissingExtra(FairoptError, ImportError):
    """An optional library that the call needs is not installed; the text says what to install.

    Examples
    --------
    >>> import fairopt as fo
    >>> issubclass(fo.MissingExtra, fo.FairoptError)
    True
    """

    exit_code = 2


class Infeasible(FairoptError):
    """The notion's constraints admit no allocation, or none but zero tasks for everybody.

    Parameters
    ----------
    proof : for guarantees that do not fit: "users" in conflict, "cut" of all guarantees that makes
        them fit, "cut_of_users" for these users alone, and the "prices" that prove it.
    nothing : users for whom rules leave nothing at all -> which rules, in words.

    Examples
    --------
    >>> import fairopt as fo
    >>> promised = fo.Quotas(guarantees=[fo.Guarantee("A", "gpu", 6)])
    >>> cluster = fo.Instance([[1]], [[4]], users=["A"], resources=["gpu"], quotas=promised)
    >>> try:
    ...     fo.solve(cluster, fo.MaxMin())
    ... except fo.Infeasible as conflict:
    ...     print(str(conflict).partition(";")[0])
    A needs 6 gpu on s1, which has 4
    """

    exit_code = 3

    def __init__(
        self,
        message: str,
        proof: dict[str, Any] | None = None,
        nothing: Mapping[str, str] | None = None,
    ) -> None:
        self.proof, self.nothing = proof, dict(nothing or {})
        super().__init__(message)

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (str(self), self.proof, self.nothing))


class NotCertified(FairoptError):
    """No answer could be certified; `allocation` carries the best one, marked as such.

    Examples
    --------
    >>> import fairopt as fo
    >>> cluster = fo.Instance([[1, 4], [3, 1]], [[9, 18]], users=["A", "B"])
    >>> try:
    ...     fo.solve(cluster, fo.AlphaFair(5), limit_s=1e-9)
    ... except fo.NotCertified as refused:
    ...     print(refused.allocation.certificate.verdict)
    unproved
    """

    exit_code = 4

    def __init__(self, message: str, allocation: Any = None) -> None:
        self.allocation = allocation
        super().__init__(message)

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (str(self), self.allocation))


class RuleWarning(UserWarning):
    """A rule of one's own that says nothing: no term of it meets a user where it may run."""


class SolverFailure(FairoptError):
    """Every solver that was tried stopped without an answer.

    Examples
    --------
    >>> import fairopt as fo
    >>> issubclass(fo.SolverFailure, fo.FairoptError)
    True
    """

    exit_code = 5
