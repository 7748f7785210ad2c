"""fairopt init: a model file to begin with."""

from __future__ import annotations

from pathlib import Path

import click

from fairopt import storage
from fairopt.commands import output
from fairopt.errors import UsageError

MODEL = """\
# A cluster and its users, for fairopt. Solve it as it is:   fairopt solve {name}
# then change the numbers. What begins with # is a remark; lines that begin with #: are optional
# and may be switched on by removing these two signs. The whole format: docs/model-files.md.

title  = "Three teams on two kinds of machines"
source = "made up by fairopt init"
# The resources that matter, in any unit, as long as demand and capacity are in the same one.
resources = ["cpu", "memory", "gpu"]

# Machines. A row stands for `count` identical ones; capacity is that of one machine, and a resource
# that is left out is not there.
[servers.large]
count = 4
capacity = {{ cpu = 64, memory = 256 }}

[servers.accelerated]
count = 2
capacity = {{ cpu = 32, memory = 256, gpu = 8 }}

# Users, and what one task of each takes. A user runs wherever it fits, unless `servers` says where.
[users.web]
demand = {{ cpu = 2, memory = 4 }}
servers = ["large"]
#: limit = 100          # the most tasks it can use

[users.analytics]
demand = {{ cpu = 4, memory = 32 }}
#: weight = 2           # twice as much as one of weight 1, which is the default

[users.vision]
demand = {{ cpu = 4, memory = 16, gpu = 1 }}

# What to solve; without it, proportional fairness. `fairopt solve --help` lists the notions, and
# `fairopt compare {name}` shows them side by side.
[[case]]
notion = "max-min"
criterion = "drf"       # what a share is: here the dominant share, as in DRF
#: [[case]]             # another one:  fairopt solve {name} --case 2
#: notion = "alpha-fair"
#: alpha = 2.0
"""


@click.command("init", context_settings={"max_content_width": 100})
@click.argument("path", metavar="[FILE]", default="model.toml")
@click.option("--force", is_flag=True, help="Write over FILE if it is there.")
def command(path: str, force: bool) -> int:
    """Write a model file with remarks to begin with: model.toml, or FILE ("-" for stdout).

    It can be solved as it is. Then change the machines, the users and what their tasks take.
    """
    if path == storage.STDIN:
        output.to_stdout(MODEL.format(name="model.toml"))
        return 0
    if Path(path).suffix != ".toml":
        raise UsageError(f"FILE: found {path!r}; wanted a name that ends in .toml")
    if Path(path).exists() and not force:
        raise UsageError(f"FILE: {path} is there already; --force writes over it")
    storage.write_text(path, MODEL.format(name=path))
    output.remark(f"wrote {path}; now: fairopt solve {path}")
    return 0
