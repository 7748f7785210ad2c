"""Small changes of the judges: a comparison turned, a number made 100 times as large, a sign, a
product, a term or a bound left out, a condition negated."""

from __future__ import annotations

import ast
import copy
import random
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "fairopt" / "certificates"
LEFT_OUT = ("__init__.py", "words.py")
"""a table of names, and sentences for people"""
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
    """The room within the room, of `meant/lots`; else the module itself."""
    return module.partition("/")[0]


def function(tree: ast.AST, line: int) -> int:
    """The first line, decorators and all, of the innermost function around a line; 0 if none is."""
    around = [
        min([node.lineno, *(one.lineno for one in node.decorator_list)])
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    return max(around, default=0)
