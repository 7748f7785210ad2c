"""The page on Kubernetes: the plan of the example."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "kubernetes.md").read_text(encoding="utf-8")


def test_the_plan_shown_is_the_plan_printed():
    """The console blocks of the page are run by test_docs_commands, in an empty folder."""
    shown = re.search(r"```sh\n(fairopt plan examples/.*?)```\n```text\n(.*?)```", PAGE, flags=re.S)
    assert shown[2] == (ROOT / "examples" / "kubernetes" / "plan.txt").read_text(encoding="utf-8")
