"""The tests of a module, in a fork: those that fail most mutants and take least are run first.

Once, before any change, the tests are run as they stand: what each takes, and which functions of
the judges each file of tests enters. Of a change within a function only the files that enter it
are run, until a test fails: the others do the same as before.
"""

from __future__ import annotations

import ast
import json
import os
import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from benchmarks.mutation.changes import PACKAGE, function, room

LONGEST = 10, 10
"""times what a test takes, and seconds of work on top, after which a mutant counts as seen"""
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
ROUNDS = (
    "certificates/test_rounds",
    "certificates/test_due",
    "certificates/test_nearby",
    "certificates/test_bounds",
    "certificates/test_crowds",
    "certificates/test_shifted",
)
"""tests of rounds, the quickest first"""
EXACT = (
    "certificates/test_follows",
    "certificates/test_exact_proof",
    "certificates/test_exact_levels",
    "certificates/test_enclosed",
    "certificates/test_enclosed_products",
    "certificates/test_enclosed_forged",
    "certificates/test_enclosed_groups",
    "certificates/test_claims_forged",
)
"""tests of levels in exact fractions, the quickest first"""
RULED = (
    "certificates/test_nearby_rules",
    "certificates/test_one_by_one",
    "certificates/test_rules",
    *ROUNDS,
)
"""tests of rounds beside rules"""
PASSES = (
    "certificates/test_partitions",
    "certificates/test_filled",
    "certificates/test_in_passes",
    "certificates/test_partitioned",
)
"""tests of users in partitions and in passes"""
TESTS = {
    "asked_users": ASKED,
    "asking": ASKED,
    "bound": (
        *THEOREM,
        "certificates/test_bound",
        "certificates/test_points",
        "certificates/test_forged",
    ),
    "bounds": ROUNDS,
    "bottleneck": ("solving/engines/test_water_one_pool",),
    "common_tasks": ("certificates/test_common_tasks", "certificates/test_per_server"),
    "compiled": ("certificates/test_dense",),
    "decimals": ("certificates/test_bound", *THEOREM),
    "dense": ("certificates/test_dense",),
    "places": ("certificates/test_bound", "certificates/test_places", *THEOREM),
    "losses": ("certificates/test_losses", "certificates/test_scale", *THEOREM),
    "digits": ("certificates/test_digits", *THEOREM, "certificates/test_points"),
    "enclosed": EXACT,
    "enclosed_groups": EXACT,
    "enclosed_lines": EXACT,
    "enclosed_levels": EXACT,
    "enclosed_prices": EXACT,
    "enclosed_products": EXACT,
    "enclosed_search": EXACT,
    "exact": ("certificates/test_exact",),
    "exact_floors": EXACT,
    "exact_case": EXACT,
    "exact_parts": EXACT,
    "exact_search": EXACT,
    "exact_tree": EXACT,
    "exact_verdict": EXACT,
    "filled": PASSES,
    "filled_loop": PASSES,
    "filled_rows": PASSES,
    "feasibility": ("certificates/test_alpha_fair",),
    "follows": EXACT,
    "groups_claim": EXACT,
    "groups_levels": EXACT,
    "groups_told": EXACT,
    "guess": ("certificates/test_alpha_fair",),
    "in_passes": PASSES,
    "near_loop": ("certificates/test_near_loop",),
    "one_price": ("certificates/test_pooled",),
    "partitioned": PASSES,
    "partitions": PASSES,
    "pooled": ("certificates/test_pooled",),
    "levels": ("certificates/test_levels", "solving/test_levels"),
    "meant": ("certificates/test_meant_begun", *EXACT),
    "ruled": RULED,
    "strict": ("certificates/test_strict",),
    "search_prices": EXACT,
    "search_tasks": EXACT,
    "tasks_claim": EXACT,
    "money": ("certificates/test_alpha_fair", "certificates/test_common_tasks"),
    "per_server": ("certificates/test_per_server",),
    "per_server_drf": ("certificates/test_per_server",),
    "question": ASKED,
    "rounds": ROUNDS,
    "rounds_proof": ROUNDS,
    "rounds_verdict": ROUNDS,
    "tradeoff": ("certificates/test_tradeoff",),
    "pulls": ("certificates/test_tradeoff",),
    "pulled": ("certificates/test_tradeoff",),
    "even": ("certificates/test_tradeoff",),
    "fitted": ("certificates/test_tradeoff",),
    "universal": ("certificates/test_universal", "certificates/test_alpha_fair"),
    "whole_tasks": ("certificates/test_whole_tasks",),
    "witness": ("certificates/test_alpha_fair",),
}
"""tests of each module or room, beside those of ALWAYS; one that is not named gets all of these"""


def tests_of(module: str) -> list[str]:
    """The files of tests of a module, from the root."""
    names = TESTS.get(module) or TESTS.get(room(module))
    own = names or tuple(name for several in TESTS.values() for name in several)
    return [f"tests/{name}.py" for name in dict.fromkeys((*own, *ALWAYS))]


@dataclass
class Known:
    """What is known of the tests: seconds of each by its name, the functions (module:line) that
    each file enters, how many mutants each has failed."""

    seconds: dict[str, float] = field(default_factory=dict)
    enters: dict[str, list[str]] = field(default_factory=dict)
    failed: Counter[str] = field(default_factory=Counter)

    def files(self, mutant: dict[str, object]) -> list[str]:
        """The files that can see a change: those that enter its function, or all if none does (a
        constant of the module, or what is compiled)."""
        module, line = str(mutant["module"]), int(str(mutant["line"]))
        tree = ast.parse((PACKAGE / f"{module}.py").read_text(encoding="utf-8"))
        at, files = f"{module}:{function(tree, line)}", tests_of(module)
        return [file for file in files if at in self.enters.get(file, ())] or files

    def late(self, test: str) -> float:
        """The order of tests: seconds by what was failed so far."""
        return (self.seconds.get(test, 0.0) + 0.01) / (1 + self.failed[test])


class Watched:
    """A plugin of pytest: what each test takes, and which functions of the judges are entered."""

    def __init__(self, known: Known, where: Path) -> None:
        self.known, self.file = known, ""
        self.judges = str(where / "fairopt" / "certificates") + os.sep

    def entered(self, frame: FrameType, event: str, _: Any) -> None:
        """What sys.setprofile calls."""
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(self.judges):
            module = name.removeprefix(self.judges).removesuffix(".py")
            self.seen.add(f"{module}:{frame.f_code.co_firstlineno}")

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        file = item.nodeid.partition("::")[0]
        self.seen = set(self.known.enters.get(file, ()))
        begin = time.process_time()
        sys.setprofile(self.entered)
        yield
        sys.setprofile(None)
        self.known.seconds[item.nodeid] = time.process_time() - begin
        self.known.enters[file] = sorted(self.seen)


class Ordered:
    """A plugin of pytest: the order of the tests, and an end to those that take much longer."""

    def __init__(self, known: Known) -> None:
        self.known = known

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        items.sort(key=lambda item: self.known.late(item.nodeid))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        times, more = LONGEST
        limit = times * self.known.seconds.get(item.nodeid, 0.0) + more
        signal.setitimer(signal.ITIMER_PROF, limit)


def watched(modules: list[str], where: Path, kept: Path) -> Known:
    """What is known of the tests of some modules: kept in a file, or found by running them."""
    if not kept.exists():
        files = sorted({file for module in modules for file in tests_of(module)})
        known = Known()

        def write() -> None:
            kept.write_text(json.dumps([known.seconds, known.enters]), encoding="utf-8")

        broken = forked(files, Watched(known, where), where, write)
        if broken:
            raise SystemExit(f"{broken} fails without any change")
    seconds, enters = json.loads(kept.read_text(encoding="utf-8"))
    return Known(seconds, enters)


def killed(mutant: dict[str, object], known: Known, where: Path) -> str:
    """The test that fails first; empty when none does, and every one was run."""
    target = where / "fairopt" / "certificates" / f"{mutant['module']}.py"
    whole = target.read_text(encoding="utf-8")
    target.write_text(str(mutant["source"]), encoding="utf-8")
    try:
        return forked(known.files(mutant), Ordered(known), where)
    finally:
        target.write_text(whole, encoding="utf-8")


def forked(files: list[str], plugin: object, where: Path, after: Any = None) -> str:
    """The first test to fail, in a fork: the libraries are loaded once for all."""
    said = where / "said.txt"
    child = os.fork()
    if child == 0:
        code = 3
        try:
            out = os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(out, 1)
            os.dup2(out, 2)
            if after is None:  # the change may be of what runs when a module is loaded
                signal.setitimer(signal.ITIMER_PROF, 20 * LONGEST[1])
            os.chdir(where)
            sys.path.insert(0, str(where))
            sys.dont_write_bytecode = True
            options = ["-xq", "-p", "no:cacheprovider", "--import-mode=importlib"]
            code = int(pytest.main([*options, *files], plugins=[plugin]))
            sys.stdout.flush()
            if code == 0 and after is not None:
                after()
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    if status == 0:
        return ""
    if os.WIFSIGNALED(status):
        return "no end"
    lines = said.read_text(encoding="utf-8").splitlines()
    failed = [x for x in lines if x.startswith(("FAILED", "ERROR"))]
    if not failed:
        raise SystemExit("\n".join(["the tests cannot be run:", *lines]))
    return failed[0].removeprefix("FAILED ").removeprefix("ERROR ").partition(" - ")[0]
