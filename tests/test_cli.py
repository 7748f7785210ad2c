"""The command line: exit codes, streams, and errors that say what to do."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fairopt as fo
from fairopt import cli, errors
from fairopt.commands import COMMANDS, notion_options
from fairopt.formulas.parameters import RULES
from fairopt.notions import NOTIONS, make
from fairopt.properties import searching, strategy_proof

ROOT = Path(fo.__file__).parent.parent
MODEL = """
title = "Nine cores, eighteen gigabytes"
resources = ["cpu", "memory"]
[servers.S]
capacity = { cpu = 9.0, memory = 18.0 }
[users.A]
demand = { cpu = 1.0, memory = 4.0 }
[users.B]
demand = { cpu = 3.0, memory = 1.0 }
weight = 2.0
"""
CASES = """
[[case]]
notion = "alpha-fair"
alpha = 3.0
[[case]]
notion = "throughput"
[[case]]
scheduler = "drf"
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.toml"
    path.write_text(MODEL)
    return str(path)


@pytest.fixture
def with_cases(tmp_path):
    path = tmp_path / "cases.toml"
    path.write_text(MODEL + CASES)
    return str(path)


def main(*arguments):
    with pytest.raises(SystemExit) as left:
        cli.main(list(arguments))
    return left.value.code


def program(*arguments, **options):
    environment = {**os.environ, "PYTHONPATH": str(ROOT), **options.pop("env", {})}
    return subprocess.run(
        [sys.executable, "-m", "fairopt.cli", *arguments],
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
        **options,
    )


# -- solve ------------------------------------------------------------------------------------


def test_solve_prints_a_certified_answer(model, capsys):
    assert main("solve", model) == 0
    out = capsys.readouterr()
    assert "Nine cores" in out.out and "\ncertified: gap" in out.out
    assert out.err == ""


def test_solve_json_is_one_object_that_verifies(model, tmp_path, capsys):
    assert main("solve", model, "--json") == 0
    text = capsys.readouterr().out
    assert json.loads(text)["schema"] == "fairopt/allocation/v1"
    saved = tmp_path / "answer.json"
    saved.write_text(text)
    assert main("verify", str(saved)) == 0
    assert capsys.readouterr().out.startswith("certified: gap")
    assert fo.certify(fo.load(saved)).certified


def test_same_input_same_bytes(model, tmp_path):
    first, second = tmp_path / "1.json", tmp_path / "2.json"
    for path in (first, second):
        assert main("solve", model, "--alpha", "2", "-o", str(path)) == 0
    assert first.read_bytes() == second.read_bytes()


def notion_of(capsys, *arguments):
    assert main("solve", *arguments, "--json") == 0
    return json.loads(capsys.readouterr().out)["notion"]


def test_which_notion_is_meant(model, with_cases, capsys):
    assert notion_of(capsys, model)["name"] == "proportional"
    plain = notion_of(capsys, model, "--alpha", "2")
    assert (plain["name"], plain["parameters"]["alpha"]) == ("alpha-fair", 2.0)
    assert notion_of(capsys, with_cases)["parameters"]["alpha"] == 3.0
    assert notion_of(capsys, with_cases, "--alpha", "4")["parameters"]["alpha"] == 4.0
    assert notion_of(capsys, with_cases, "--weight-inside")["parameters"]["weight_inside"] is True
    assert notion_of(capsys, with_cases, "--case", "2")["name"] == "throughput"
    assert notion_of(capsys, with_cases, "--notion", "proportional")["name"] == "proportional"
    named = notion_of(capsys, model, "--notion", "proportional", "--criterion", "drf")
    assert named["parameters"]["criterion"] == "drf"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--notion", "throughput", "--alpha", "2"], "--alpha: throughput does not take it"),
        (["--notion", "proportional", "--alpha", "2"], "it takes --criterion"),
        (["--notion", "alpha-fair"], "alpha-fair needs --alpha"),
        (["--notion", "maxmix"], "max-min"),
        (["--notion", "bf-drf"], "fairopt fill MODEL --scheduler bf-drf"),
        (["--alpha", "-1"], "alpha: found -1"),
        (["--alpha", "nan"], "alpha: found nan"),
        (["--alpha", "two"], "not a valid float"),
        (["--criterion", "height"], "dominant-share"),
        (["--solver", "abacus"], "clarabel"),
        (["--gap", "0"], "tolerance: found 0"),
        (["--case", "1"], "no cases"),
        (["--case", "1", "--notion", "throughput"], "exclude each other"),
        (["--nonsense"], "No such option"),
    ],
)
def test_usage_errors(model, arguments, says, capsys):
    assert main("solve", model, *arguments) == 2
    out = capsys.readouterr()
    assert out.out == "" and says in out.err and "Traceback" not in out.err


@pytest.mark.parametrize(
    ("typed", "name", "parameters"),
    [
        ("drf", "max-min", {"criterion": "drf"}),
        ("TSF", "max-min", {"criterion": "tsf"}),
        ("proportional-fairness", "proportional", {"criterion": "tasks"}),
        ("ProportionalFair", "proportional", {}),
        ("max_min", "max-min", {}),
        ("tdm", "ps-dsf", {"division": "tdm"}),
        ("utilitarian", "throughput", {}),
    ],
)
def test_other_names_lead_to_the_notion_with_a_message(model, typed, name, parameters, capsys):
    assert main("solve", model, "--notion", typed, "--json") == 0
    out = capsys.readouterr()
    found = json.loads(out.out)["notion"]
    assert found["name"] == name and parameters.items() <= found["parameters"].items()
    assert f"{typed} is solved as --notion {name}" in out.err


def test_every_other_name_is_a_notion_with_parameters_it_takes():
    for name, parameters in notion_options.OTHERS.values():
        needed = {"alpha": 1} if name == "alpha-fair" else {}
        assert make(name, **parameters, **needed).name == name
    assert not set(notion_options.OTHERS) & {n.replace("-", "") for n in NOTIONS}


def test_a_sweep_knows_other_names(model, capsys):
    assert main("sweep", model, "--notion", "drf", "--over", "criterion=tsf,drf", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["notion"]["parameters"]["criterion"] for row in rows] == ["tsf", "drf"]


def test_help_groups_the_options_by_notion(capsys):
    *takers, last = [name for name in NOTIONS if "criterion" in RULES[name]]
    for command in ("solve", "sweep", "explain"):
        assert main(command, "--help") == 0
        parts = re.split(r"^(Options.*):$", capsys.readouterr().out, flags=re.M)[1:]
        found = dict(zip(parts[::2], parts[1::2], strict=True))
        assert "--t-drf" in found["Options of tradeoff"]
        assert "--alpha" in found["Options of alpha-fair"]
        assert "--criterion" in found[f"Options of {', '.join(takers)} and {last}"]
        assert "--json" in found["Options"] and "--alpha" not in found["Options"]


def test_a_whole_answer_is_not_cut(capsys):
    assert main("solve", "real/google2011") == 0
    assert "... 30 more" in capsys.readouterr().out
    assert main("solve", "real/google2011", "--whole") == 0
    out = capsys.readouterr().out
    inst = fo.read("real/google2011").instance
    assert all(re.search(rf"^{name} ", out, flags=re.M) for name in (*inst.users, *inst.servers))
    assert not re.search(r"^\.\.\. \d+ more", out, flags=re.M)
    assert "…" not in out and "..." not in out


def test_a_search_tells_how_far_it_is():
    seen = []
    with searching.told(lambda done, of: seen.append((done, of))):
        strategy_proof(fo.read("ghodsi2011/example").instance, fo.MaxMin(), trials=15)
    assert seen == [(k, 15) for k in range(1, 16)]
    strategy_proof(fo.read("ghodsi2011/example").instance, fo.MaxMin(), trials=2)
    assert len(seen) == 15


def test_the_shell_completes_models_and_notions(monkeypatch, capsys):
    for words, wanted in (
        ("fairopt solve kesidis2016/t", "plain,kesidis2016/t-drf"),
        ("fairopt solve x --notion ps", "plain,ps-dsf"),
    ):
        monkeypatch.setenv("_FAIROPT_COMPLETE", "bash_complete")
        monkeypatch.setenv("COMP_WORDS", words)
        monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
        with pytest.raises(SystemExit):
            cli.main([])
        assert wanted in capsys.readouterr().out.splitlines()


def test_init_writes_a_model_that_solves(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main("init") == 0
    assert main("solve", "model.toml") == 0
    assert "max-min (criterion=drf): 3 users" in capsys.readouterr().out
    text = (tmp_path / "model.toml").read_text()
    whole = re.sub(r"^#: ", "", text, flags=re.M)
    assert whole != text
    (tmp_path / "whole.toml").write_text(whole)
    assert main("solve", "whole.toml", "--case", "2") == 0
    inst = fo.read("whole.toml").instance
    assert inst.limit[0] == 100 and inst.weight[1] == 2
    assert main("init") == 2 and main("init", "x.json") == 2
    assert "--force" in capsys.readouterr().err
    assert main("init", "--force", "model.toml") == 0 and main("init", "-") == 0
    assert capsys.readouterr().out == text


def test_case_that_is_no_notion(with_cases, capsys):
    assert main("solve", with_cases, "--case", "3") == 2
    assert "scheduler 'drf'; wanted a notion" in capsys.readouterr().err


def test_not_certified_is_shown_marked_and_exits_4(model, capsys):
    assert main("solve", model, "--gap", "1e-30") == 4
    out = capsys.readouterr()
    assert "NOT CERTIFIED" in out.out and "A " in out.out
    assert out.err.startswith("fairopt: proportional")


def test_help_has_no_markup(capsys):
    assert main("solve", "--help") == 0
    assert ":math:" not in capsys.readouterr().out


def test_help_lists_the_notions(capsys):
    assert main("solve", "--help") == 0
    lines = capsys.readouterr().out.splitlines()
    for name, notion in NOTIONS.items():
        assert any(re.match(rf" +{name} +\S", x) and notion.summary in x for x in lines)


@pytest.mark.parametrize("name", ["edge/bytes-and-cores", "edge/limits", "edge/tiny-and-huge"])
def test_capacity_and_limits_are_kept(name, capsys, tmp_path):
    """Promise P1, on the saved answer: in the user's units, to one part in 1e9."""
    saved = tmp_path / "answer.json"
    main("solve", name, "-o", str(saved))
    answer = fo.load(saved)
    assert (answer.utilisation <= 1 + 1e-9).all()
    assert (answer.totals <= answer.instance.limit * (1 + 1e-9)).all()
    assert (answer.tasks >= 0).all() and (answer.tasks[~answer.instance.eligible] == 0).all()
    capsys.readouterr()


def test_threads_are_controlled(model, monkeypatch, capsys):
    """Promise P6: while solving, every BLAS in the process has one thread."""
    from threadpoolctl import threadpool_info

    from fairopt import solving

    seen = []
    inside = solving.answering.reduced

    def watched(*arguments):
        seen.extend(pool["num_threads"] for pool in threadpool_info())
        return inside(*arguments)

    monkeypatch.setattr(solving.answering, "reduced", watched)
    assert main("solve", model) == 0
    assert seen and set(seen) == {1}
    capsys.readouterr()


# -- files and streams ------------------------------------------------------------------------


def test_stdin(model):
    solved = program("solve", "-", "--json", input=MODEL)
    assert solved.returncode == 0
    judged = program("verify", "-", input=solved.stdout)
    assert judged.returncode == 0 and judged.stdout.startswith("certified")


def test_output_is_refused_before_solving(model, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("fairopt.files.read", lambda path: pytest.fail("too late"))
    assert main("solve", model, "-o", str(tmp_path / "missing" / "answer.json")) == 2
    assert "does not exist" in capsys.readouterr().err
    assert main("solve", model, "-o", str(tmp_path)) == 2
    assert "is a folder" in capsys.readouterr().err


def test_output_is_whole_or_not_at_all(model, tmp_path, monkeypatch, capsys):
    target = tmp_path / "answer.json"
    target.write_text("before")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert main("solve", model, "-o", str(target)) == 2
    assert "No space left" in capsys.readouterr().err
    assert target.read_text() == "before"
    assert {p.name for p in tmp_path.iterdir()} == {"answer.json", "model.toml"}


def test_closed_pipe_is_quiet(model):
    for arguments in (["solve", model], ["--help"], ["models"]):
        process = subprocess.Popen(
            [sys.executable, "-m", "fairopt.cli", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        process.stdout.close()
        complaint = process.stderr.read()
        process.stderr.close()
        assert (process.wait(), complaint) == (0, b"")


@pytest.mark.parametrize("content", ["", "title = ", "\x00\x01", "[users]\n[users]\n"])
def test_junk_is_refused(content, tmp_path, capsys):
    path = tmp_path / "junk.toml"
    path.write_text(content)
    assert main("solve", str(path)) == 2
    err = capsys.readouterr().err
    assert "junk.toml" in err and "found" in err and "Traceback" not in err


def test_missing_and_folders(tmp_path, capsys):
    assert main("solve", str(tmp_path / "none.toml")) == 2
    assert main("solve", str(tmp_path)) == 2
    assert main("verify", str(tmp_path)) == 2
    assert main("verify", str(tmp_path / "none.json")) == 2
    assert capsys.readouterr().out == ""


# -- verify -----------------------------------------------------------------------------------


def test_verify_imports_no_solver(model, tmp_path):
    """With solvers that cannot be imported, an answer is judged and a small model solved."""
    saved = tmp_path / "answer.json"
    assert main("solve", model, "-o", str(saved)) == 0
    stubs = tmp_path / "stubs"
    stubs.mkdir()
    absent = ("cvxpy", "clarabel", "ecos", "scs", "highspy", "pandas", "matplotlib")
    # to `import` and to `find_spec` alike they are not installed
    (stubs / "sitecustomize.py").write_text(
        f"import sys\nsys.modules.update(dict.fromkeys({absent!r}))\n"
    )
    path = {"PYTHONPATH": f"{stubs}{os.pathsep}{ROOT}"}
    judged = program("verify", str(saved), env=path)
    assert (judged.returncode, judged.stderr) == (0, "")
    assert judged.stdout.startswith("certified")
    # our own methods need none of them; a solver that is named and not there is said to be missing
    solved = program("solve", model, env=path)
    assert (solved.returncode, solved.stderr) == (0, "") and "certified" in solved.stdout
    named = program("solve", model, "--solver", "clarabel", env=path)
    assert named.returncode != 0
    assert "solver clarabel is not installed: pip install 'clarabel'" in named.stderr
    built = program("solve", "--help", env=path)
    assert built.returncode == 0 and all(name in built.stdout for name in NOTIONS)


def test_verify_prints_shares_in_fractions(tmp_path, capsys):
    saved = tmp_path / "answer.json"
    assert main("solve", "ghodsi2011/example", "--notion", "max-min", "-o", str(saved)) == 0
    capsys.readouterr()
    assert main("verify", str(saved), "--exact") == 0
    assert capsys.readouterr().out.endswith("no rounding\n  A: 2/3\n  B: 2/3\n")
    assert main("verify", str(saved), "--exact", "--json") == 2
    assert main("solve", "ghodsi2011/example", "-o", str(saved)) == 0
    assert main("verify", str(saved), "--exact") == 2
    assert "found proportional; wanted max-min" in capsys.readouterr().err


def test_verify_refutes_and_says_so(tmp_path, capsys):
    inst = fo.Instance([[1, 4], [3, 1]], [[9, 18]])
    spoiled = tmp_path / "spoiled.json"
    fo.Allocation(inst, fo.ProportionalFair(), [[3.0], [1.0]]).save(spoiled)
    assert main("verify", str(spoiled)) == 4
    assert capsys.readouterr().out.startswith("refuted")
    assert main("verify", str(spoiled), "--json") == 4
    plain = json.loads(capsys.readouterr().out)
    assert plain["certificate"]["verdict"] == "refuted"


def test_verify_does_not_believe_the_file(model, tmp_path, capsys):
    assert main("solve", model, "--json") == 0
    plain = json.loads(capsys.readouterr().out)
    plain["tasks"]["A"]["S"] *= 0.9
    del plain["objective"], plain["equivalent"]  # another number there is refused by name
    claimed = tmp_path / "claimed.json"
    claimed.write_text(json.dumps(plain))
    assert main("verify", str(claimed)) == 4
    assert "the file says certified" in capsys.readouterr().err


# -- models, help, and the one place of errors ------------------------------------------------


def test_models(capsys):
    assert main("models", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["models"]
    assert {row["name"] for row in rows} == {shipped.name for shipped in fo.models()} != set()
    assert main("models") == 0
    out = capsys.readouterr().out
    for row in rows:
        assert (row["name"] in out) != row["name"].startswith("counterexamples/")
    assert main("models", "--all") == 0
    assert all(row["name"] in capsys.readouterr().out.split() for row in rows[-1:])
    assert main("models", "--filter", "Envy-FREE search") == 0
    found = capsys.readouterr().out
    assert "counterexamples/envy-free-" in found and "kesidis2016" not in found
    assert main("models", "--filter", "no such words") == 2


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name, capsys):
    assert main(name, "--help") == 0
    assert capsys.readouterr().out.startswith(f"Usage: fairopt {name}")


def test_bare_and_unknown(capsys):
    assert main() == 2
    said = capsys.readouterr().err
    assert said.count("fairopt ") >= 4 and said.startswith("Three things to try")
    assert main("sovle") == 2
    assert main("--version") == 0
    assert capsys.readouterr().out == f"fairopt {fo.__version__}\n"


def test_as_a_module():
    asked = [sys.executable, "-m", "fairopt", "--version"]
    told = subprocess.run(asked, capture_output=True, text=True, check=True)
    assert told.stdout == f"fairopt {fo.__version__}\n"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.Infeasible("nothing is left"), 3),
        (errors.NotCertified("not sure"), 4),
        (errors.SolverFailure("all stopped"), 5),
        (errors.MissingExtra("pip install 'fairopt[frame]'"), 2),
        (RuntimeError("two\nlines"), 1),
        (KeyboardInterrupt(), 130),
        (BrokenPipeError(), 0),
    ],
)
def test_exit_codes(error, code, monkeypatch, capfd):
    def fail():
        raise error

    monkeypatch.setattr("fairopt.files.models", fail)
    assert main("models") == code
    said = capfd.readouterr()
    assert said.out == "" and "Traceback" not in said.err
    assert said.err.count("\n") == (code != 0)
    if code == 1:
        assert "RuntimeError: two lines" in said.err and "FAIROPT_DEBUG=1" in said.err


def test_debug_shows_the_traceback(monkeypatch):
    def fail():
        raise RuntimeError("deep inside")

    monkeypatch.setattr("fairopt.files.models", fail)
    monkeypatch.setenv("FAIROPT_DEBUG", "1")
    with pytest.raises(RuntimeError):
        cli.main(["models"])


@pytest.mark.parametrize("solver", [(), ("--solver", "highs")])
def test_stdout_holds_the_result_alone(model: str, solver: tuple[str, ...]) -> None:
    """Libraries print there past Python: HiGHS a banner as soon as there is a model of it."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "fairopt.cli",
            "solve",
            model,
            "--notion",
            "max-min",
            "--json",
            *solver,
        ],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["notion"]["name"] == "max-min"


def test_our_models_of_highs_print_nothing() -> None:
    code = "from fairopt.highs import quiet; quiet(mip_max_nodes=3)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("", "")
