"""fairopt verify: judge a saved answer with NumPy alone."""

from __future__ import annotations

import json
from pathlib import Path

import click

from fairopt import files, storage
from fairopt.allocation import Allocation
from fairopt.certificates import certify
from fairopt.commands import asked, output, progress, sweep_workers, work
from fairopt.commands.output import as_json, to_stderr, to_stdout
from fairopt.errors import NotCertified, UsageError
from fairopt.files.answers import LARGEST_ANSWER

LONGEST = 24
"""most characters of a fraction that is printed as one"""


@click.command("verify")
@click.argument("file")
@click.option(
    "--partitions",
    metavar="DIR",
    help="Of an answer in partitions: where its users are, if they were moved.",
)
@click.option(
    "--kkt",
    is_flag=True,
    help="Of an allocation: print the conditions of optimality, pair by pair.",
)
@click.option(
    "--exact",
    is_flag=True,
    help="Of max-min: print every share in exact fractions, proved without any rounding.",
)
@click.option(
    "--tolerance",
    type=float,
    default=1e-6,
    show_default=True,
    help="Certify when every share is proved to be within this part.",
)
@work.jobs
@work.dask
@as_json
def command(
    file: str,
    partitions: str | None,
    kkt: bool,
    exact: bool,
    tolerance: float,
    jobs: int,
    dask: str | None,
    as_json: bool,
) -> int:
    """Judge the allocation in FILE (fairopt/allocation/v1, or "-" for stdin), or the plan.

    Of an allocation only instance, notion and tasks are needed; a verdict in the file is not
    believed. Of a plan (fairopt/plan/v1) the fluid answer is judged, whole tasks are checked node
    by node, and its tables are computed again. Whole tasks (fairopt/whole/v1) are judged in
    integers: exit code 0 means proved, or right with a gap that is stated. Of a replay hindsight is
    judged, and sums and ratios are computed again. FILE may be the folder
    of an answer in partitions, which is judged a partition at a time, on several processes with -j.
    Exit code 0 means certified, 4 refuted or unproved.
    """
    if exact and (kkt or as_json):
        raise UsageError("--exact prints shares alone; wanted neither --kkt nor --json with it")
    if Path(file).is_dir():
        if exact:
            raise UsageError("--exact belongs to one allocation; FILE is an answer in partitions")
        if kkt:
            raise UsageError("--kkt belongs to one allocation; FILE is an answer in partitions")
        return _partitions(file, partitions, jobs, dask, as_json)
    for name, given in (("--partitions", partitions), ("-j", jobs > 1), ("--dask", dask)):
        if given:
            raise UsageError(f"{name} belongs to the folder of an answer in partitions")
    content = storage.read_text(file, LARGEST_ANSWER, "an answer or a plan in JSON")
    source = storage.source_name(file)
    if exact and '"fairopt/allocation/v1"' not in content[:4096]:
        raise UsageError(f"--exact belongs to an allocation; {source} is none")
    if is_plan(content):
        if kkt:
            raise UsageError("--kkt belongs to an allocation; FILE is a plan")
        return _plan(content, source, as_json)
    if '"fairopt/whole/v1"' in content[:4096]:
        return _whole(content, source, as_json)
    if asked.is_replay(content):
        return _replay(content, source, as_json)
    answer = files.loads(content, source)
    shares = _in_fractions(answer) if exact else ""
    certificate = certify(answer, tolerance=tolerance)
    if kkt:
        output.kkt_out(answer.with_(certificate=certificate), "", True, False, as_json)
    elif as_json:
        to_stdout(files.dumps(answer.with_(certificate=certificate)))
    else:
        to_stdout(certificate.explain() + shares)
    claimed = answer.certificate
    if claimed is not None and claimed.verdict != certificate.verdict:
        to_stderr(f"the file says {claimed.verdict}; its numbers say {certificate.verdict}")
    return 0 if certificate.certified else NotCertified.exit_code


def _in_fractions(answer: Allocation) -> str:
    """What every share is at every optimum, in exact fractions."""
    from fairopt.certificates.enclosed_search import exact_levels

    levels = exact_levels(answer)
    if levels is None:
        return "\nexact shares: not proved"
    lines = ["exact shares at every optimum, proved in fractions: no rounding"]
    for name, share in zip(answer.instance.users, levels.share, strict=True):
        long = len(str(share)) > LONGEST
        lines.append(f"  {name}: " + (f"about {float(share):.17g}" if long else str(share)))
    return "\n" + "\n".join(lines)


def _partitions(
    folder: str, partitions: str | None, jobs: int, dask: str | None, as_json: bool
) -> int:
    """Judge an answer in partitions."""
    from fairopt.certificates.partitioned import ANSWER, certify_partitions, head

    sweep_workers.check(jobs, dask)
    try:
        with (
            sweep_workers.executor(jobs, dask, jobs) as executor,
            progress.counted("passes") as moved,
        ):
            found = certify_partitions(folder, partitions, executor, moved)
    except KeyboardInterrupt:
        raise work.Interrupted("nothing was written") from None
    to_stdout(storage.encoded(found.to_dict()) if as_json else found.explain())
    claimed = head(folder).get("certificate")
    said = claimed.get("verdict") if isinstance(claimed, dict) else None
    if said is not None and said != found.verdict:
        to_stderr(f"{ANSWER} says {said}; its numbers say {found.verdict}")
    return 0 if found.certified else NotCertified.exit_code


def is_plan(content: str) -> bool:
    """Whether the text is a plan, told from its first lines."""
    return '"fairopt/plan/v1"' in content[:4096]


def _replay(content: str, source: str, as_json: bool) -> int:
    """Judge a replay: hindsight, sums and ratios."""
    from fairopt.overtime.judged import judged
    from fairopt.report.html import replay_data

    found = judged(replay_data.parsed(content, source), source)
    to_stdout(storage.encoded(found.to_dict()) if as_json else found.explain())
    return 0 if found.sound else NotCertified.exit_code


def _whole(content: str, source: str, as_json: bool) -> int:
    """Judge whole tasks, in integers."""
    from fairopt.whole.proof import judging, reading

    verdict = judging.judge(reading.loads(content, source))
    to_stdout(storage.encoded(verdict.plain()) if as_json else verdict.explain())
    return 0 if verdict.sound else NotCertified.exit_code


def _plan(content: str, source: str, as_json: bool) -> int:
    """Judge a plan; its verdict with every check is printed."""
    from fairopt.connect.judging import plans as judging
    from fairopt.connect.plan import rows as plan_rows

    judged = judging.judge(plan_rows.loads(content, source), source)
    if as_json:
        to_stdout(json.dumps(judged.plain(), indent=2))
    else:
        to_stdout(judged.explain())
    return 0 if judged.certified else NotCertified.exit_code
