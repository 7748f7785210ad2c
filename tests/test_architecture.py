"""Imports go one way (the map: CONTRIBUTING.md); heavy packages are imported when needed."""

from __future__ import annotations

import ast
import io
import os
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

import fairopt

PACKAGE = Path(fairopt.__file__).parent
TESTS = Path(__file__).parent

# from the ground up; a module imports those of lower layers, and of its own package, only, early or
# late
LAYERS = (
    ("errors", "exact", "threads", "markup", "deprecation", "fast", "upstairs"),
    ("storage", "memory", "clock"),
    ("arrays", "highs"),
    ("instance",),
    ("criteria",),
    ("formulas",),
    ("allocation", "program"),
    ("whole.proof",),
    ("whole",),
    ("files", "filling", "kkt", "measures"),
    ("certificates",),
    ("notions",),
    ("solving.reduce",),
    ("solving.engines",),
    ("solving",),
    ("properties", "overtime"),
    ("sweeping", "compare", "mechanisms", "dynamics", "explaining", "auditing"),
    ("propositions",),
    ("connect",),
    ("report",),
    ("commands",),
    ("cli",),
    ("__main__",),
)
RANK = {name: rank for rank, layer in enumerate(LAYERS) for name in layer}

# the judge and the judged share no code above the data, not even late
JUDGES = {"allocation", "certificates", "filling", "whole.proof"}
SOLVERS = {"program", "notions", "solving.reduce", "solving.engines"}
# the search for whole tasks looks for patterns with the judge's own search, never the other way
SEARCH = {"whole.proof": {"whole"}}
HEAVY = {
    "cvxpy",
    "clarabel",
    "ecos",
    "scs",
    "highspy",
    "pandas",
    "pyarrow",
    "matplotlib",
    "dask",
    "numba",
    "ijson",
    "yaml",
}


def modules() -> list[Path]:
    return sorted(p for p in PACKAGE.rglob("*.py") if "models" not in p.parts[-2:])


def part(path: Path) -> str:
    """The room of a file: the module or package below fairopt, or a room inside that."""
    return room(path.relative_to(PACKAGE).with_suffix("").parts)


def room(parts: Sequence[str]) -> str:
    inner = ".".join(parts[:2])
    return inner if inner in RANK else parts[0]


def imports(tree: ast.Module, late: bool = False) -> Iterator[str]:
    """Absolute names of what is imported: at module level, or with `late` anywhere."""
    nodes = list(ast.walk(tree)) if late else list(_top(tree.body))
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide the order"
            yield str(node.module)
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _top(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements run on import: not inside functions, not under TYPE_CHECKING."""
    for node in body:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        if isinstance(node, ast.If | ast.Try | ast.With | ast.ClassDef):
            for inner in ("body", "orelse", "finalbody"):
                yield from _top(getattr(node, inner, []))
            for handler in getattr(node, "handlers", []):
                yield from _top(handler.body)


def own(names: Iterator[str]) -> set[str]:
    """The parts of fairopt among imported names."""
    found = {room(name.split(".")[1:]) for name in names if name.startswith("fairopt.")}
    return {name for name in found if name in RANK}


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def test_every_module_has_its_place():
    parts = {part(p) for p in modules()} - {"__init__"}
    assert parts == set(RANK), f"LAYERS: {sorted(parts - set(RANK))} or {sorted(set(RANK) - parts)}"


def test_tests_stand_where_the_rooms_do():
    """A folder of tests is named as a room, or as what stands beside the package."""
    folders = {p.parent.relative_to(TESTS).as_posix() for p in TESTS.rglob("test_*.py")} - {"."}
    beside = {"benchmarks", "docs", "oracles"}
    assert folders - beside <= {p.parent.relative_to(PACKAGE).as_posix() for p in modules()}
    # what stands at the top is of a module at the top, or of the whole
    whole = {"architecture", "models", "readme", "release", "types"}
    top = {p.stem.removeprefix("test_") for p in TESTS.glob("test_*.py")} - whole
    assert top <= {p.stem for p in PACKAGE.glob("*.py")}


def test_imports_go_down():
    """Late ones and those for types too; `fairopt` itself takes only the lowest when it loads."""
    wrong = {}
    for path in modules():
        here = part(path)
        below = own(imports(parsed(path), late=here != "__init__")) - {here}
        up = {name for name in below if RANK[name] >= RANK.get(here, 1)}
        if up:
            wrong[str(path.relative_to(PACKAGE))] = sorted(up)
    assert not wrong, "these import what stands beside or above them"


def test_the_map_shows_every_room():
    page = (TESTS.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    map_of_rooms = page.split("## The rooms")[1].split("\n## ")[0]
    drawing, table = map_of_rooms.split("```text\n")[1].split("```\n")
    first = " ".join(line.split("|")[1] for line in table.splitlines() if line.startswith("| "))
    drawn, told = (set(re.findall(r"\w+", part)) for part in (drawing, first))
    rooms = {name.split(".")[0] for name in RANK} - {"__main__"}
    assert rooms <= drawn and rooms <= told


def test_judge_and_judged_are_apart():
    wrong = {}
    for path in modules():
        here, tree = part(path), parsed(path)
        found = set()
        if here in JUDGES:
            found |= own(imports(tree, late=True)) & (SOLVERS | SEARCH.get(here, set()))
        if here in SOLVERS:
            found |= own(imports(tree)) & JUDGES
        if found:
            wrong[str(path.relative_to(PACKAGE))] = sorted(found)
    assert not wrong


def test_no_class_name_has_two_meanings():
    """Who reads a name needs no import to know what it is; an underscore is no second name."""
    homes: dict[str, list[str]] = {}
    for path in modules():
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name.lstrip("_"), []).append(str(path.relative_to(PACKAGE)))
    several = {name: found for name, found in homes.items() if len(found) > 1}
    assert not several


def constants(tree: ast.Module) -> Iterator[str]:
    """Names that are bound at module level, by = or in a tuple."""
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if isinstance(node, ast.AnnAssign):
            targets = [node.target]
        for inner in (inner for target in targets for inner in ast.walk(target)):
            if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
                yield inner.id


BARE = {"MOST", "LARGEST", "LEAST", "NEAR", "SAME", "FEW", "MANY"}


def test_bounds_say_what_they_bound():
    """MOST_COLUMNS tells a reader what MOST does not, and SAME_LEVEL what SAME does not."""
    wrong = {}
    for path in modules():
        found = {name for name in constants(parsed(path)) if name.lstrip("_") in BARE}
        if found:
            wrong[str(path.relative_to(PACKAGE))] = sorted(found)
    assert not wrong


def test_bare_names_are_found_for_real():
    tree = ast.parse(
        "A, _MOST = 1, 2\nLEAST: int = 3\nMOST_ROWS = LARGEST = 4\ndef f():\n    MOST = 5"
    )
    assert set(constants(tree)) == {"A", "_MOST", "LEAST", "MOST_ROWS", "LARGEST"}


LONG = 30
"""lines of a loop's body from which on it has a comment"""


def bare_loops(text: str) -> list[int]:
    """First lines of the loops with a long body that say nowhere why they are as they are."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    said = [token.start[0] for token in tokens if token.type == tokenize.COMMENT]
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.For | ast.AsyncFor | ast.While):
            end = node.body[-1].end_lineno or node.lineno
            long = end - node.body[0].lineno + 1 > LONG
            if long and not any(node.lineno <= line <= end for line in said):
                found.append(node.lineno)
    return found


def test_long_loops_say_why():
    """Who meets a loop longer than a page finds a reason in it, not only what it does."""
    wrong = {
        str(path.relative_to(PACKAGE)): lines
        for path in modules()
        if (lines := bare_loops(path.read_text(encoding="utf-8")))
    }
    assert not wrong


def test_loops_without_a_comment_are_found_for_real():
    turns = "    x += 1\n"
    assert bare_loops("x = 0\nfor k in range(3):\n" + turns * (LONG + 1)) == [2]
    assert not bare_loops("x = 0\nwhile x < 3:\n" + turns * LONG)
    told = "x = 0\nwhile x < 3:\n" + turns * LONG + "    # one more: it counts from 1\n" + turns
    assert not bare_loops(told)


def test_heavy_imports_are_late():
    wrong = {}
    for path in modules():
        tops = {name.split(".")[0] for name in imports(parsed(path))}
        found = tops & HEAVY
        if part(path) in ("certificates", "whole.proof"):
            everywhere = {name.split(".")[0] for name in imports(parsed(path), late=True)}
            found |= (everywhere & HEAVY) | (tops & {"scipy"})
        if found:
            wrong[str(path.relative_to(PACKAGE))] = sorted(found)
    assert not wrong


def circles(trees: dict[str, ast.Module]) -> dict[str, set[str]]:
    """Modules that import each other in the end, late and under TYPE_CHECKING too -> what they do.

    A name imported from a package is the module of that name where there is one, else the package.
    """
    left = {name: _modules(tree, set(trees)) - {name} for name, tree in trees.items()}
    while ends := {name for name, found in left.items() if not found}:
        left = {name: found - ends for name, found in left.items() if name not in ends}
    # what is left leads into a circle; what nobody there imports is in none
    while tips := left.keys() - set().union(*left.values()):
        left = {name: found for name, found in left.items() if name not in tips}
    return left


def _modules(tree: ast.Module, known: set[str]) -> set[str]:
    """Those of the known modules that are imported anywhere."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names = (f"{node.module}.{alias.name}" for alias in node.names)
            found |= {name if name in known else str(node.module) for name in names}
    return found & known


def named(path: Path) -> str:
    parts = ("fairopt", *path.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_no_two_files_import_each_other():
    """Not even in a circle of several; `fairopt` itself, which only names things, is left out."""
    trees = {named(path): parsed(path) for path in modules()}
    del trees["fairopt"]
    assert not circles(trees)


def test_circles_are_found_for_real():
    trees = {
        "fairopt.a": ast.parse("def late():\n    from fairopt.b import thing"),
        "fairopt.b": ast.parse("from fairopt import c"),
        "fairopt.c": ast.parse("if TYPE_CHECKING:\n    import fairopt.a\nfrom fairopt import d"),
        "fairopt.d": ast.parse("import os"),
        "fairopt.e": ast.parse("from fairopt.a import thing"),
    }
    assert circles(trees) == {
        "fairopt.a": {"fairopt.b"},
        "fairopt.b": {"fairopt.c"},
        "fairopt.c": {"fairopt.a"},
    }
    del trees["fairopt.c"]
    assert not circles(trees)


def test_the_order_is_checked_for_real():
    """The test above sees what it should: an import up, hidden in a `try`, but not a late one."""
    tree = ast.parse(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from fairopt import cli\n"
        "try:\n    from fairopt import solving\nexcept ImportError:\n    import fairopt.report\n"
        "def late():\n    from fairopt import filling\n"
    )
    assert own(imports(tree)) == {"solving", "report"}
    assert own(imports(tree, late=True)) == {"solving", "report", "filling", "cli"}


def loaded(code: str, tmp_path: Path) -> set[str]:
    """Top-level packages that a fresh interpreter has loaded after `code`."""
    tell = "import sys; print(' '.join(sorted({m.split('.')[0] for m in sys.modules})))"
    run = subprocess.run(
        [sys.executable, "-c", f"{code}\n{tell}"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PACKAGE.parent)},
        check=True,
    )
    return set(run.stdout.splitlines()[-1].split())


def test_import_is_light(tmp_path):
    assert not loaded("import fairopt", tmp_path) & {*HEAVY, "scipy", "numpy", "rich"}


def test_help_is_light(tmp_path):
    code = "from fairopt.cli import run\nassert run(['--help']) == 0"
    assert not loaded(code, tmp_path) & {*HEAVY, "scipy", "numpy", "rich"}


def test_the_judge_needs_no_solver(tmp_path):
    code = (
        "import fairopt as fo\n"
        "fo.certify(fo.Allocation(fo.Instance([[1]], [[2]]), fo.ProportionalFair(), [[2]]))"
    )
    assert not loaded(code, tmp_path) & HEAVY


def test_the_judge_of_whole_tasks_needs_no_solver(tmp_path):
    code = (
        "import fairopt as fo\nfrom fairopt.whole.proof.answer import Asked, WholeTasks\n"
        "from fairopt.whole.proof.judging import judge\n"
        "from fairopt.whole.proof.problem import NodeRow\n"
        "from fractions import Fraction as F\n"
        "row = NodeRow('s', 1, {'c': F(3)}, ((0, '', {'c': F(2)}, None),))\n"
        "asked = Asked(('A',), (row,), (F(1),), (9,), (1,), ('exact',), ({'s': 1},))\n"
        "assert judge(WholeTasks(asked, ((0, 1, (1,)),))).state == 'proved'"
    )
    assert not loaded(code, tmp_path) & {*HEAVY, "scipy"}
