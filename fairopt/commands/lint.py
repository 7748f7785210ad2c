"""fairopt lint: quotas that cannot be meant, with file, line and the fix."""

from __future__ import annotations

import json

import click

from fairopt.commands import output
from fairopt.errors import UsageError, printable

FOUND = 6
"""the exit code where anything was found"""


@click.command("lint", context_settings={"max_content_width": 100})
@click.argument("files", nargs=-1, required=True)
@output.as_json
def command(files: tuple[str, ...], as_json: bool) -> int:
    """Read quotas for what nobody can mean.

    FILES hold objects as kubectl prints them or as you keep them (YAML, JSON, gzip, "-" for
    stdin): ClusterQueues, Cohorts, ResourceFlavors and LocalQueues of Kueue and its
    Configuration, Queues of Volcano or KAI, ResourceQuotas; nodes, against which promises are
    held; slurm.conf; and models of fairopt (NAME.toml). Each finding has file, line and what would
    mend it.

    Exit code 0 means that nothing was found, 6 that something was.
    """
    from fairopt.connect.lint.running import lint

    found, known = lint(files)
    if not known:
        raise UsageError("found no object that there is a rule for; wanted quotas or queues")
    if as_json:
        rows = [own.plain() for own in found]
        data = {"schema": "fairopt/lint/v1", "objects": known, "findings": rows}
        output.to_stdout(json.dumps(data, indent=2, ensure_ascii=False))
    else:
        lines = []
        for own in found:
            head = f"{own.file}:{own.line}" if own.line else own.file
            lines += [f"{head}: {own.severity} {own.code}: {own.place}: {own.found}"]
            lines += [f"    fix: {own.fix}"]
        words = f"{len(found)} finding{'s' if len(found) != 1 else ''}" if found else "nothing"
        lines.append(f"{words} in {known} object{'s' if known != 1 else ''}")
        output.to_stdout("\n".join(printable(line) for line in lines))
    return FOUND if found else 0
