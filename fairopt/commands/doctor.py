"""fairopt doctor: what is installed, and which lines of the README will work here."""

from __future__ import annotations

import importlib.util
import json
import platform
import re
import shutil
from importlib import metadata

import click

from fairopt import __version__
from fairopt.commands.output import as_json, to_stdout

REQUIRED = (
    *("cvxpy", "numpy", "scipy", "clarabel", "highspy", "scs", "click", "rich"),
    *("threadpoolctl", "tomli-w"),
)
EXTRAS = {
    "plot": ("matplotlib",),
    "ecos": ("ecos",),
    "frame": ("pandas", "pyarrow"),
    "dask": ("dask", "distributed"),
    "connect": ("ijson", "pyyaml"),
    "serve": ("starlette", "uvicorn", "pyyaml"),
    "fast": ("numba",),
}
"""packages of each extra of pyproject.toml; a test holds the two to each other"""
IMPORTED = {"pyyaml": "yaml", "tomli-w": "tomli_w"}
"""the name that is imported, where it is another one"""
NEEDS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"--plot\b", ("matplotlib",)),
    (r"--solver ecos\b", ("ecos",)),
    (r"^kubectl ", ("kubectl",)),
    (r"\bplan\b|\bimport\b", ("ijson", "pyyaml")),
    (r"\.parquet\b|--frame\b", ("pandas", "pyarrow")),
)
"""what a line needs beyond the required packages, by what stands in it"""
LINES = (
    "fairopt solve real/google2011",
    "fairopt solve ghodsi2011/example",
    "fairopt solve kesidis2018/example --kkt",
    "fairopt solve real/ec2-gpu --notion ps-dsf",
    "fairopt compare khamse2016/figure-1",
    "fairopt sweep kesidis2016/t-drf --over t_drf=log:0.01:1000:26 --plot shares.svg -o points.csv",
    "fairopt verify answer.json --kkt",
    "fairopt explain real/ec2-gpu web",
    "fairopt report points.json -o points.html",
    "fairopt partition users.csv --servers servers.csv -o parts",
    "kubectl get nodes,pods -A -o json | fairopt plan -",
    "fairopt propositions kesidis2018 --trials 200 --expect-violation",
    "fairopt fill kesidis2018/example --all",
)
"""lines of the README; a test finds each of them there"""


def version(package: str) -> str | None:
    """The version of an installed package; None if it is missing or cannot be imported."""
    if importlib.util.find_spec(IMPORTED.get(package, package)) is None:
        return None
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "?"


def missing(line: str) -> list[str]:
    """What a line of the README needs that is not here."""
    wanted = [need for form, needs in NEEDS if re.search(form, line) for need in needs]
    return [
        need
        for need in dict.fromkeys(wanted)
        if (shutil.which(need) if need == "kubectl" else version(need)) is None
    ]


@click.command("doctor", context_settings={"max_content_width": 100})
@as_json
def command(as_json: bool) -> int:
    """What is installed, with versions, and which lines of the README will work here.

    Nothing is imported or solved. Exit code 2 if a required package is missing.
    """
    required = {package: version(package) for package in REQUIRED}
    extras = {extra: {p: version(p) for p in packages} for extra, packages in EXTRAS.items()}
    lines = {line: missing(line) for line in LINES}
    code = 0 if all(required.values()) else 2
    if as_json:
        found = {
            "schema": "fairopt/doctor/v1",
            "fairopt": __version__,
            "python": platform.python_version(),
            "required": required,
            "extras": extras,
            "lines": lines,
        }
        to_stdout(json.dumps(found, indent=2))
        return code
    text = [f"fairopt {__version__}, Python {platform.python_version()}, {platform.system()}", ""]
    width = max(map(len, (*REQUIRED, *sum(EXTRAS.values(), ()))))
    for package, found_version in required.items():
        text.append(f"{package:{width}}  {found_version or 'MISSING: pip install fairopt'}")
    told = set()
    for extra, packages in extras.items():
        for package, found_version in packages.items():
            if package in told:
                continue
            told.add(package)
            absent = f"not installed: pip install 'fairopt[{extra}]'"
            text.append(f"{package:{width}}  {found_version or absent}")
    text += ["", "Lines of the README:"]
    for line, lacking in lines.items():
        text.append(f"  {'works' if not lacking else 'needs ' + ', '.join(lacking)}: {line}")
    to_stdout("\n".join(text))
    return code
