"""fairopt verify: judge a saved answer with NumPy alone."""

from __future__ import annotations

import click

from fairopt import files
from fairopt.certificates import certify
from fairopt.commands.output import as_json, to_stderr, to_stdout
from fairopt.errors import NotCertified


@click.command("verify")
@click.argument("file")
@as_json
def command(file: str, as_json: bool) -> int:
    """Judge the allocation in FILE (fairopt/allocation/v1, or "-" for stdin).

    Only instance, notion and tasks are needed; a verdict in the file is not believed. Exit code 0
    means certified, 4 refuted or unproved.
    """
    answer = files.load(file)
    certificate = certify(answer)
    if as_json:
        to_stdout(files.dumps(answer.with_(certificate=certificate)))
    else:
        to_stdout(certificate.explain())
    claimed = answer.certificate
    if claimed is not None and claimed.verdict != certificate.verdict:
        to_stderr(f"the file says {claimed.verdict}; its numbers say {certificate.verdict}")
    return 0 if certificate.certified else NotCertified.exit_code
