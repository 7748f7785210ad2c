"""Mutation run over the judges: is every change of fairopt/certificates/ seen by a test?

    OPENBLAS_NUM_THREADS=1 python benchmarks/mutation.py --write docs/results/mutation.md
    OPENBLAS_NUM_THREADS=1 python benchmarks/mutation.py --only nearby ruled --sample 40

draws a seeded sample of small changes (a comparison turned, a number made 100 times as large, a
sign, a product, a term or a bound left out, a condition negated), makes each in a copy of the
package and runs the tests of that module until one fails. A change that no test notices survives;
mutation.toml says of survivors why they change nothing. A run that was stopped goes on where it
was: every mutant leaves a line in --journal.
"""

from __future__ import annotations

import argparse
import ast
import copy
import json
import os
import random
import resource
import shutil
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

# what the tests load, loaded before the first fork; fairopt itself is loaded in the fork
import cvxpy  # noqa: F401
import pytest
import scipy.optimize
import scipy.sparse.linalg  # noqa: F401

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "fairopt" / "certificates"
JUDGE = ("asking", "bound", "decimals", "digits", "losses", "places", "question", "rounds")
"""what the theorem stands on, and the rounds of max-min: the modules that are changed if no other
is named"""
LONGEST = 200
"""seconds of work after which a mutant counts as seen; all tests of a module take a half"""
LEFT_OUT = ("__init__.py", "words.py")
"""a table of names, and sentences for people"""
ALWAYS = ("certificates/test_brackets", "certificates/test_spoils")
THEOREM = (
    "certificates/test_places",
    "certificates/test_question",
    "certificates/test_lighter",
    "certificates/test_apart",
    "certificates/test_by_rows",
    "certificates/test_theorem",
)
"""tests of the theorem's places and of users that only more digits prove, the quickest first"""
ASKED = (
    *THEOREM,
    "certificates/test_points",
    "certificates/test_alpha_fair",
    "certificates/test_rules",
    "certificates/test_forged",
)
"""tests of what is asked and of how it is read, the quickest first"""
CARRIED = ("certificates/test_crowds", "certificates/test_carried", "certificates/test_shifted")
"""tests of errors of earlier rounds, the quickest first"""
NEARBY = (
    "certificates/test_nearby",
    "certificates/test_rounds",
    "certificates/test_rules",
    *CARRIED,
)
"""tests of rooms within the room, of max-min: the point nearby, and rounds beside rules"""
TESTS = {
    "asking": ASKED,
    "bound": (
        *THEOREM,
        "certificates/test_bound",
        "certificates/test_points",
        "certificates/test_forged",
    ),
    "bottleneck": ("solving/engines/test_water_one_pool",),
    "carried": CARRIED,
    "common_tasks": ("certificates/test_common_tasks", "certificates/test_per_server"),
    "crowds": CARRIED,
    "decimals": ("certificates/test_bound", *THEOREM),
    "digits": ("certificates/test_digits", *THEOREM, "certificates/test_points"),
    "exact": ("certificates/test_exact",),
    "feasibility": ("certificates/test_alpha_fair",),
    "guess": ("certificates/test_alpha_fair",),
    "levels": ("certificates/test_levels", "solving/test_levels"),
    "nearby": NEARBY,
    "ruled": NEARBY,
    "losses": ("certificates/test_losses", "certificates/test_scale", *THEOREM),
    "money": ("certificates/test_alpha_fair", "certificates/test_common_tasks"),
    "places": ("certificates/test_bound", "certificates/test_places", *THEOREM),
    "per_server": ("certificates/test_per_server",),
    "per_server_drf": ("certificates/test_per_server",),
    "pushed": CARRIED,
    "question": ASKED,
    "rounds": (
        "certificates/test_rounds",
        "certificates/test_due",
        "certificates/test_carried",
        "certificates/test_shifted",
    ),
    "together": CARRIED,
    "tradeoff": ("certificates/test_tradeoff",),
    "pulls": ("certificates/test_tradeoff",),
    "pulled": ("certificates/test_tradeoff",),
    "even": ("certificates/test_tradeoff",),
    "fitted": ("certificates/test_tradeoff",),
    "universal": ("certificates/test_universal", "certificates/test_alpha_fair"),
    "whole_tasks": ("certificates/test_whole_tasks",),
    "witness": ("certificates/test_alpha_fair",),
}
"""tests of each module or room, before those of ALWAYS where it is none of JUDGE, whose own tests
take longest; a module that is not named gets all of these"""
TURNED = {
    ast.Lt: ast.GtE,
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.And: ast.Or,
    ast.Or: ast.And,
}
BOUNDS = ("maximum", "minimum", "fmax", "fmin", "clip", "abs", "max", "min")


def mutants(path: Path) -> Iterator[tuple[int, str, str, str]]:
    """(line, before, after, source) of every change of one file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in _expressions(tree):
        for changed in _changes(node):
            before, kept = ast.unparse(node), copy.copy(node.__dict__)
            node.__class__, old = type(changed), type(node)
            node.__dict__ = changed.__dict__
            yield kept["lineno"], before, ast.unparse(node), ast.unparse(tree)
            node.__class__, node.__dict__ = old, kept


def _expressions(tree: ast.Module) -> list[ast.AST]:
    """Expressions that are computed: no annotations, no decorators, no f-strings, no slices."""
    apart: set[int] = set()
    for node in ast.walk(tree):
        hidden = [getattr(node, name, None) for name in ("annotation", "returns")]
        hidden += getattr(node, "decorator_list", [])
        if isinstance(node, ast.JoinedStr):
            hidden.append(node)
        if isinstance(node, ast.Subscript):
            hidden.append(node.slice)
        for one in hidden:
            if isinstance(one, ast.AST):
                apart.update(id(inner) for inner in ast.walk(one))
    return [node for node in ast.walk(tree) if id(node) not in apart]


def _changes(node: ast.AST) -> Iterator[ast.AST]:
    if isinstance(node, ast.Compare) and type(node.ops[0]) in TURNED:
        yield _with(node, ops=[TURNED[type(node.ops[0])](), *node.ops[1:]])
    elif isinstance(node, ast.BinOp) and type(node.op) in TURNED:
        yield _with(node, op=TURNED[type(node.op)]())
        if isinstance(node.op, ast.Add | ast.Sub):  # a term left out
            yield node.left
    elif isinstance(node, ast.BoolOp):
        yield _with(node, op=TURNED[type(node.op)]())
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.Invert):
        yield node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield _with(node, value=not node.value)
    elif isinstance(node, ast.Constant) and isinstance(node.value, int | float):
        yield _with(node, value=node.value * 100 if node.value else 1)
    elif isinstance(node, ast.Call) and len(node.args) > 0:
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name in BOUNDS and not isinstance(node.args[0], ast.GeneratorExp):
            yield node.args[0]  # a bound left out


def _with(node: ast.AST, **changes: object) -> ast.AST:
    changed = copy.copy(node)
    changed.__dict__.update(changes)
    return changed


def sample(size: int, seed: int, only: list[str]) -> list[dict[str, object]]:
    """Mutants of all modules, or of some, drawn by a seed; each with the text of its module."""
    found = [
        {"module": name, "line": line, "before": before, "after": after, "source": source}
        for path in sorted(PACKAGE.rglob("*.py"), key=lambda path: (path.parent != PACKAGE, path))
        for name in [path.relative_to(PACKAGE).with_suffix("").as_posix()]
        if path.name not in LEFT_OUT and (not only or not {name, room(name)}.isdisjoint(only))
        for line, before, after, source in mutants(path)
        if before != after
    ]
    return random.Random(seed).sample(found, min(size, len(found)))


def room(module: str) -> str:
    """The room within the room, of `nearby/proof`; else the module itself."""
    return module.partition("/")[0]


def key(mutant: dict[str, object]) -> str:
    return "{module}:{line}: {before} -> {after}".format(**mutant)


def killed(mutant: dict[str, object], where: Path) -> str:
    """The test that fails first; empty when none does, and every one was run."""
    target = where / "fairopt" / "certificates" / f"{mutant['module']}.py"
    whole = target.read_text(encoding="utf-8")
    target.write_text(str(mutant["source"]), encoding="utf-8")
    try:
        return first_failure(str(mutant["module"]), where)
    finally:
        target.write_text(whole, encoding="utf-8")


def tests_of(module: str) -> list[str]:
    """Names of the test files before those of ALWAYS."""
    return list(
        TESTS.get(room(module)) or dict.fromkeys(name for t in TESTS.values() for name in t)
    )


def first_failure(module: str, where: Path) -> str:
    """The first test of a module to fail, in a fork: the libraries are loaded once for all."""
    said = where / "said.txt"
    child = os.fork()
    if child == 0:
        code = 3
        try:
            out = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(out, 1)
            os.dup2(out, 2)
            resource.setrlimit(resource.RLIMIT_CPU, (LONGEST, LONGEST))
            os.chdir(where)
            sys.path.insert(0, str(where))
            sys.dont_write_bytecode = True
            names = (*tests_of(module), *(() if module in JUDGE else ALWAYS))
            files = [f"tests/{name}.py" for name in names]
            code = int(pytest.main(["-xq", "-p", "no:cacheprovider", *files]))
            sys.stdout.flush()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if status == 0:
        return ""
    if os.WIFSIGNALED(status):
        return f"no end in {LONGEST} s"
    lines = said.read_text(encoding="utf-8").splitlines()
    failed = [x for x in lines if x.startswith(("FAILED", "ERROR"))]
    if not failed:
        raise SystemExit("\n".join(["the tests cannot be run:", *lines]))
    return failed[0].split()[1]


def page(rows: list[dict[str, object]], options: str) -> str:
    """Markdown: how many of each module, and every survivor with its word."""
    words = tomllib.loads((ROOT / "benchmarks" / "mutation.toml").read_text(encoding="utf-8"))
    tried = Counter(row["module"] for row in rows)
    lived = [row for row in rows if not row["killed"]]
    left = Counter(row["module"] for row in lived)
    lines = [
        "# Mutation run over the judges\n\n",
        f"{len(rows)} small changes of `fairopt/certificates/`, drawn by a seed, each "
        "made alone: a\ncomparison turned, a number made 100 times as large, a sign or product "
        "turned, a term or bound\nleft out, a condition negated. Made by\n\n```sh\n"
        f"OPENBLAS_NUM_THREADS=1 python benchmarks/mutation.py {options} "
        "--write docs/results/mutation.md\n```\n\n",
        f"{len(rows) - len(lived)} fail a test, {len(lived)} survive.\n\n",
        "| module | tried | survive |\n|---|---:|---:|\n",
        *(f"| {module} | {tried[module]} | {left[module]} |\n" for module in sorted(tried)),
        "\n## Survivors\n\nA change of a guess, of a search or of a shortcut can make no verdict "
        "wrong: any prices prove a\nbound. Each survivor, and why no test sees it:\n\n",
    ]
    for row in sorted(lived, key=lambda row: (str(row["module"]), int(str(row["line"])))):
        module, line = row["module"], row["line"]
        text = f"{row['before']} -> {row['after']}"
        why = words.get(str(module), {}).get(text, "not explained")
        lines.append(f"- `{module}` line {line}: `{text}`: {why}\n")
    return "".join(lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=200, help="how many changes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", default=list(JUDGE), help="modules, rooms, or all")
    parser.add_argument("--journal", type=Path, default=Path("mutation.jsonl"))
    parser.add_argument("--write", type=Path, help="the page")
    given = parser.parse_args(arguments)
    given.only = [] if given.only == ["all"] else given.only
    known = {}
    if given.journal.exists():
        for line in given.journal.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            known[key(row)] = row
    rows = []
    with tempfile.TemporaryDirectory() as temporary:
        where = Path(temporary)
        for name in ("fairopt", "tests", "benchmarks", "models", "pyproject.toml"):
            source = ROOT / name
            (shutil.copytree if source.is_dir() else shutil.copy)(source, where / name)
        for module in given.only or TESTS:
            broken = "" if given.journal.exists() else first_failure(module, where)
            if broken:
                parser.error(f"{module}: {broken} fails without any change")
        for mutant in sample(given.sample, given.seed, given.only):
            if key(mutant) not in known:
                row = {**mutant, "killed": killed(mutant, where)}
                del row["source"]
                known[key(mutant)] = row
                with given.journal.open("a", encoding="utf-8") as out:
                    out.write(json.dumps(row) + "\n")
                if not row["killed"]:
                    print("survives:", key(row), flush=True)
            rows.append(known[key(mutant)])
    print(f"{len(rows)} tried, {sum(not row['killed'] for row in rows)} survive")
    if given.write:
        only = f" --only {' '.join(given.only or ['all'])}"
        only = "" if given.only == list(JUDGE) else only
        options = f"--sample {given.sample} --seed {given.seed}{only}"
        given.write.write_text(page(rows, options), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
