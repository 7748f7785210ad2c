"""fairopt simulate tasks: jobs of many tasks come to one pool (Figure 4 of bonald2015)."""

from __future__ import annotations

import click

from fairopt import files
from fairopt.commands import simulate_loads as common
from fairopt.commands import simulate_options as asks


@click.command("tasks", context_settings={"max_content_width": 100})
@click.argument("model")
@asks.loads_and_rules("drf, pf, bmf (all three by default), or a scheduler of `fairopt fill`.")
@asks.whole("--count", "number", says="Jobs measured in each run.", default=2000)
@asks.whole("--warmup", says="Jobs before the measured ones.", default=200, least=0)
@asks.whole("--tasks-per-job", says="Tasks of a job; default the model's [dynamics], or 500.")
@asks.whole("--units", says="Multiply the pool's capacity by N; default the model's, or 100.")
@click.option(
    "--freeze/--no-freeze",
    default=True,
    show_default=True,
    help="Serve no job while a task of the most deprived job does not fit.",
)
@click.option(
    "--bottleneck",
    type=click.Choice(["<=", "<"]),
    default="<=",
    show_default=True,
    help="For bmf: how what is left of a bottleneck compares with the largest demand.",
)
@click.option(
    "--shape",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="K",
    help="Stages of the Erlang task times; 1 is exponential, more are less variable.",
)
@asks.taking(*asks.DRAWN)
def command(
    model: str,
    loads: tuple[float, ...],
    rules: tuple[str, ...],
    number: int,
    warmup: int,
    tasks_per_job: int | None,
    units: int | None,
    freeze: bool,
    bottleneck: str,
    shape: int,
    run: asks.Run,
) -> int:
    """Simulate jobs of many tasks on the one pool of MODEL; a user is a class of jobs.

    Prints the mean service rate of each class under each rule with 95% intervals over independent
    runs, and the rules compared by paired differences: all get the same jobs. Every run is checked:
    tasks started = ended + running, nothing above capacity, Little's law.
    """
    from fairopt.dynamics.tasks import simulate_tasks

    problem = files.read(model)
    asked, named = common.loads_of(problem, loads), rules or ("drf", "pf", "bmf")
    runs = common.carried_out(
        lambda **how: simulate_tasks(
            problem.instance,
            asked,
            named,
            mix=problem.dynamics.get("mix"),
            units=common.setting(problem, "units", units, 100),
            tasks_per_job=common.setting(problem, "tasks_per_job", tasks_per_job, 500),
            jobs=number,
            warmup=warmup,
            replications=run.replications,
            seed=run.seed,
            freeze=freeze,
            bottleneck=bottleneck,
            shape=shape,
            **how,
        ),
        len(asked) * len(named) * run.replications,
        run,
        "tasks",
    )
    return common.out(runs, problem, "tasks", run)
