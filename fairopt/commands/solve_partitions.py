"""fairopt solve-partitions: one instance of more users than memory holds."""

from __future__ import annotations

import click

from fairopt import storage
from fairopt.commands import output, progress, sweep_workers, work
from fairopt.errors import NotCertified


@click.command("solve-partitions", context_settings={"max_content_width": 100})
@click.argument("folder", metavar="DIR")
@click.option(
    "-o",
    "--output",
    "path",
    metavar="DIR",
    required=True,
    help="The folder for the answer; files of the same names are replaced.",
)
@click.option(
    "--alpha",
    type=float,
    default=1.0,
    show_default=True,
    metavar="ALPHA",
    help=">= 0.1; 1 is proportional fairness, large alpha nears max-min.",
)
@click.option(
    "--criterion",
    default="tasks",
    show_default=True,
    metavar="NAME",
    help="What a share is: a criterion that counts a task alike on all servers.",
)
@click.option("--weight-inside", is_flag=True, help="Maximise sum phi_n g(s_n / phi_n) instead.")
@click.option(
    "--limit",
    "limit_s",
    type=float,
    metavar="SECONDS",
    help="Then stop: the answer so far, with the bound proved of it (exit code 4).",
)
@work.jobs
@work.dask
@output.as_json
def command(
    folder: str,
    path: str,
    alpha: float,
    criterion: str,
    weight_inside: bool,
    limit_s: float | None,
    jobs: int,
    dask: str | None,
    as_json: bool,
) -> int:
    """Allocate fairly among the users in the partitions of DIR, and prove it.

    DIR is what `fairopt partition` writes. The answer is written in partitions too, and judged by
    what was written. The same command goes on where it was stopped, to the same bytes. Exit code
    4 means that the answer written is not certified.
    """
    sweep_workers.check(jobs, dask)
    from fairopt import AlphaFair, ProportionalFair, solve_partitions
    from fairopt.files.partitions import Partitions

    plain = alpha == 1 and not weight_inside
    notion = ProportionalFair(criterion) if plain else AlphaFair(alpha, criterion, weight_inside)
    source = Partitions(folder)
    try:
        with (
            sweep_workers.executor(jobs, dask, len(source)) as executor,
            progress.counted("passes") as moved,
        ):
            found = solve_partitions(
                source, notion, path, executor, moved, uncertified="return", limit_s=limit_s
            )
    except KeyboardInterrupt:
        raise work.Interrupted("the same command goes on from here") from None
    said = found.certificate
    if as_json:
        output.to_stdout(
            storage.encoded(
                {
                    "folder": path,
                    "users": found.users,
                    "passes": found.passes,
                    "certificate": said.to_dict(),
                }
            )
        )
    else:
        parts = f"{len(source)} partition{'s' if len(source) != 1 else ''}"
        head = f"{notion.name}: {found.users} users in {parts}"
        output.to_stdout(f"{head}, {found.passes} passes; answer in {path}\n\n{said.explain()}")
    if not said.certified:
        raise NotCertified(f"{notion.name}: {said.verdict}", None)
    return 0
