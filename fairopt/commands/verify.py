"""fairopt verify: judge a saved answer with NumPy alone."""

from __future__ import annotations

import json

import click

from fairopt import files, storage
from fairopt.certificates import certify
from fairopt.commands.output import as_json, to_stderr, to_stdout
from fairopt.errors import NotCertified
from fairopt.files.answers import LARGEST


@click.command("verify")
@click.argument("file")
@as_json
def command(file: str, as_json: bool) -> int:
    """Judge the allocation in FILE (fairopt/allocation/v1, or "-" for stdin), or the plan.

    Of an allocation only instance, notion and tasks are needed; a verdict in the file is not
    believed. Of a plan (fairopt/plan/v1) the fluid answer is judged, whole tasks are checked node
    by node, and its tables are computed again. Exit code 0 means certified, 4 refuted or unproved.
    """
    content = storage.read_text(file, LARGEST, "an answer or a plan in JSON")
    source = storage.source_name(file)
    if is_plan(content):
        return _plan(content, source, as_json)
    answer = files.loads(content, source)
    certificate = certify(answer)
    if as_json:
        to_stdout(files.dumps(answer.with_(certificate=certificate)))
    else:
        to_stdout(certificate.explain())
    claimed = answer.certificate
    if claimed is not None and claimed.verdict != certificate.verdict:
        to_stderr(f"the file says {claimed.verdict}; its numbers say {certificate.verdict}")
    return 0 if certificate.certified else NotCertified.exit_code


def is_plan(content: str) -> bool:
    """Whether the text is a plan, told from its first lines."""
    return '"fairopt/plan/v1"' in content[:4096]


def _plan(content: str, source: str, as_json: bool) -> int:
    """Judge a plan; its verdict with every check is printed."""
    from fairopt.connect import judging, plan_rows

    judged = judging.judge(plan_rows.loads(content, source), source)
    if as_json:
        to_stdout(json.dumps(judged.plain(), indent=2))
    else:
        to_stdout(judged.explain())
    return 0 if judged.certified else NotCertified.exit_code
