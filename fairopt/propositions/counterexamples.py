"""Counterexamples as model files: the instance, and a case that names the statement."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from fairopt.allocation.check import Check
from fairopt.errors import BadInput, Fault, NotCertified, UsageError
from fairopt.files import Model, read, write
from fairopt.files.cases import Case
from fairopt.instance import Instance
from fairopt.propositions.statement import Statement
from fairopt.propositions.table import find
from fairopt.propositions.trials import TrialRow, built, judged, label


def model_of(statement: Statement, without: str, found: dict[str, Any]) -> Model:
    """The model file of a counterexample given as `trials.shrunk` returns it."""
    case = Case("proposition", statement.name, {"seed": found["seed"]})
    if without:
        case.parameters["without"] = without
    cases: tuple[Case, ...] = (case,)
    if statement.notion is not None:
        solved = statement.notion.plain()
        cases = (Case("notion", solved["name"], solved["parameters"]), case)
    what = label(statement.name, without)
    source = f"Found by `fairopt propositions`, trial {found['trial']}: {found['witness']}"
    return Model(
        built(found["instance"]),
        cases,
        f"Counterexample to {what}",
        source,
        name=file_name(what),
    )


def file_name(what: str) -> str:
    """The label of a row as a file name without ending."""
    kept = "".join(c if c.isalnum() or c in "-." else "-" for c in what)
    return "-".join(part for part in kept.split("-") if part)


def save(rows: list[TrialRow], folder: str | os.PathLike[str]) -> dict[str, Path]:
    """Write the counterexamples of all rows; returns the file of each row's label.

    Raises
    ------
    UsageError : the folder cannot be made or written in.

    Examples
    --------
    >>> from fairopt import propositions
    >>> import tempfile
    >>> rows = propositions.run(['kesidis2018/definition-1-printed'], trials=5)
    >>> path = propositions.save(rows, tempfile.mkdtemp())['kesidis2018/definition-1-printed']
    >>> path.name
    'kesidis2018-definition-1-printed.toml'
    """
    root = made_folder(folder)
    files = {}
    for row in rows:
        if row.counterexample is not None:
            path = root / f"{row.counterexample.name}.toml"
            write(row.counterexample, path)
            files[row.label] = path
    return files


def made_folder(folder: str | os.PathLike[str]) -> Path:
    """The folder, which is created if it does not exist.

    Raises
    ------
    UsageError : it cannot be created.

    Examples
    --------
    >>> from fairopt import propositions
    >>> import tempfile
    >>> propositions.made_folder(tempfile.mkdtemp() + '/new').name
    'new'
    """
    try:
        Path(folder).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"counterexamples: {folder} cannot be made ({error.strerror})") from None
    return Path(folder)


def replay(model: Model | str | os.PathLike[str]) -> list[tuple[str, Check]]:
    """Judge anew every case of a model that names a proposition; returns (row label, check).

    Raises
    ------
    UsageError : no case names a proposition, or a case names an unknown one.
    BadInput : a case without a seed, or an instance that does not meet the hypotheses of the case.
    NotCertified : the statement cannot be decided on the instance.

    Examples
    --------
    >>> from fairopt import propositions
    >>> import tempfile
    >>> rows = propositions.run(['kesidis2018/definition-1-printed'], trials=5)
    >>> path = propositions.save(rows, tempfile.mkdtemp())['kesidis2018/definition-1-printed']
    >>> [(what, check.holds) for what, check in propositions.replay(path)]
    [('kesidis2018/definition-1-printed', False)]
    """
    if not isinstance(model, Model):
        model = read(model)
    cases = [case for case in model.cases if case.kind == "proposition"]
    if not cases:
        raise UsageError(f"replay: {model.name or 'the model'} has no case that is a proposition")
    return [_replayed(model.instance, case) for case in cases]


def _replayed(instance: Instance, case: Case) -> tuple[str, Check]:
    statement, without = find(case.name), str(case.parameters.get("without", ""))
    seed = case.parameters.get("seed")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise BadInput([Fault("case.seed", repr(seed), "a whole number >= 0")])
    if without and without not in {h.name for h in statement.hypotheses}:
        names = ", ".join(h.name for h in statement.hypotheses) or "none"
        raise BadInput([Fault("case.without", without, f"a hypothesis of {case.name}: {names}")])
    what = label(statement.name, without)
    missed = [h.name for h in statement.hypotheses if h.holds(instance) == (h.name == without)]
    if missed:
        wanted = "all hypotheses met" + (f" but {without}" if without else "")
        raise BadInput([Fault(what, f"otherwise: {', '.join(missed)}", wanted)])
    outcome = judged(statement, instance, seed)
    if outcome.check is None:
        raise NotCertified(f"{what}: not decided ({outcome.reason})")
    return what, outcome.check
