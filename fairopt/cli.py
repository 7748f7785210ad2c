"""The command line: finds the command, and turns every error into a message and an exit code.

Exit codes: 0 ok and certified; 1 internal error; 2 bad input or usage; 3 infeasible; 4 not
certified; 5 solver failure; 6 `lint` found something; 130 interrupted or terminated. When the
reader of our output closes the pipe, the program ends quietly with 0.
"""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
from collections.abc import Sequence
from contextlib import suppress

import click

from fairopt import __version__
from fairopt.commands import COMMANDS
from fairopt.commands.lazy import Lazy, with_option
from fairopt.commands.output import to_stderr
from fairopt.errors import FairoptError, UsageError

EXIT_INTERNAL = 1
EXIT_INTERRUPTED = 130
DEBUG = "FAIROPT_DEBUG"
"""the environment variable that asks for tracebacks"""
STDOUT = 1
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)
"""errors of a stream or disk that accepts no more output"""


@click.group(cls=Lazy, table=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", message="fairopt %(version)s")
def cli() -> None:
    """Fair allocation of many resources on heterogeneous servers, with answers that prove
    themselves.

    Results go to stdout, progress and errors to stderr; "-" as a file is stdin.

    To begin: `fairopt init`, `fairopt solve model.toml`. Completion after Tab: `fairopt completion
    --install`.

    Exit codes: 0 ok and certified, 1 internal error, 2 bad input or usage, 3 infeasible,
    4 not certified, 5 solver failure, 6 `lint` found something, 130 interrupted.
    """


with_option(cli)

FIRST = """\
Three things to try:

  fairopt solve real/google2011                        12,583 machines among 40 users, with a proof
  fairopt compare khamse2016/figure-1                  every notion of fairness on one small cluster
  kubectl get nodes,pods -A -o json | fairopt plan -   who is due what on a cluster of yours

`fairopt --help` lists all commands, `fairopt doctor` says what is installed."""
"""what `fairopt` alone prints"""


def run(arguments: Sequence[str]) -> int:
    """Run the command line `arguments` (without the program's name); returns the exit code."""
    if not arguments:
        to_stderr(FIRST)
        return UsageError.exit_code
    try:
        with cli.make_context("fairopt", list(arguments)) as context:
            code = cli.invoke(context)
        return int(code or 0)
    except click.exceptions.Exit as asked:
        return asked.exit_code
    except click.ClickException as error:
        said = io.StringIO()
        error.show(said)
        to_stderr(said.getvalue().rstrip("\n"))
        return error.exit_code
    except FairoptError as error:
        if os.environ.get(DEBUG):
            raise
        to_stderr(f"fairopt: {error}")
        return error.exit_code
    except MemoryError as error:
        if os.environ.get(DEBUG):
            raise
        found = " ".join(str(error).split()) or "nothing more can be allocated"
        to_stderr(f"fairopt: memory: {found}; wanted a smaller problem, or more memory")
        return UsageError.exit_code


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point of the `fairopt` script: runs the command and exits with its code."""
    if "_FAIROPT_COMPLETE" in os.environ:  # shell completion, which click answers itself
        cli.main(prog_name="fairopt")
    _results_alone()
    with suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # end as tidily as by Ctrl-C
    try:
        code = run(sys.argv[1:] if arguments is None else arguments)
    except (KeyboardInterrupt, click.Abort):
        to_stderr("fairopt: interrupted")
        code = EXIT_INTERRUPTED
    except BrokenPipeError:
        code = 0  # the reader of our output closed the pipe
    except Exception as error:
        if os.environ.get(DEBUG):
            raise
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            to_stderr(f"fairopt: output: it cannot be written ({error.strerror})")
            code = UsageError.exit_code
        else:
            said = " ".join(str(error).split()) or "no message"
            kind = type(error).__name__
            to_stderr(f"fairopt: internal error: {kind}: {said} (set {DEBUG}=1 for details)")
            code = EXIT_INTERNAL
    _drain()
    sys.exit(code)


def _results_alone() -> None:
    """Keep stdout for results: what libraries print there past Python goes to stderr."""
    out = sys.stdout
    with suppress(OSError, ValueError, AttributeError):  # one of both is closed, or no file
        if out.fileno() == STDOUT:
            out.flush()
            own = os.dup(STDOUT)
            os.dup2(sys.stderr.fileno(), STDOUT)
            sys.stdout = open(own, "w", encoding=out.encoding, errors=out.errors)  # noqa: SIM115


def _drain() -> None:
    """Flush the output; what cannot be written is dropped, or Python would complain at its end."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


if __name__ == "__main__":
    main()
