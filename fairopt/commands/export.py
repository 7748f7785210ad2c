"""fairopt export: the quotas of a plan as objects of a scheduler."""

from __future__ import annotations

import click

from fairopt import storage
from fairopt.commands import output
from fairopt.files.answers import LARGEST


@click.command("export", context_settings={"max_content_width": 100})
@click.argument("kind", type=click.Choice(("kueue",)))
@click.argument("plan")
@click.option(
    "--api",
    "version",
    default="v1beta2",
    show_default=True,
    metavar="VERSION",
    help="Version of Kueue's API: v1beta1 or v1beta2.",
)
@click.option(
    "--cohort",
    default="",
    metavar="NAME",
    help="A cohort for all queues, in which what one leaves is lent to the others.",
)
@click.option(
    "-o",
    "--output",
    "path",
    default=storage.STDIN,
    metavar="FILE",
    callback=output.early,
    help="Where the YAML goes; default stdout.",
)
def command(kind: str, plan: str, version: str, cohort: str, path: str) -> int:
    """Write the quotas of PLAN, as `fairopt plan -o` left it, as YAML.

    The plan is judged first: one that does not hold is not exported. The quota of a queue on a
    flavor is what its whole tasks take there, in exact quantities, never above the nodes.
    """
    from fairopt.connect import export_kueue, judging, plan_rows
    from fairopt.errors import NotCertified

    content = storage.read_text(plan, LARGEST, "a plan in JSON")
    source = storage.source_name(plan)
    data = plan_rows.loads(content, source)
    verdict = judging.judge(data, source)
    if not verdict.certified:
        raise NotCertified(f"{source}: the plan does not hold; fairopt verify {plan} says why")
    made = export_kueue.objects(data, version, cohort)
    storage.write_text(path, export_kueue.text(data, made))
    return 0
