"""What --kkt prints: the conditions of optimality of an answer, as text or JSON."""

from __future__ import annotations

import json

from fairopt.allocation import Allocation
from fairopt.commands import output

SCHEMA = "fairopt/kkt/v1"


def out(answer: Allocation, title: str, accepted: bool, whole: bool, as_json: bool) -> None:
    """Print the tables of the answer."""
    from fairopt import kkt

    if as_json:
        found = [table.plain() for table in kkt.tables(answer)]
        data = {"schema": SCHEMA, "notion": answer.notion, "tables": found}
        output.to_stdout(json.dumps(data))
        return
    from fairopt.report.kkt_text import kkt_text

    output.to_stdout(kkt_text(answer, title, accepted, whole))
