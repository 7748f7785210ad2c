"""fairopt diff: two answers side by side, losers first."""

from __future__ import annotations

import click

from fairopt import storage
from fairopt.commands import asked, output


@click.command("diff", context_settings={"max_content_width": 100})
@click.argument("before")
@click.argument("after")
@output.as_json
@output.out
def command(before: str, after: str, as_json: bool, path: str | None) -> int:
    """Compare two saved answers or plans: who has less, who has more, what is full now.

    BEFORE and AFTER are answers as `fairopt solve -o` writes them, or plans as `fairopt plan -o`
    does, or what kubectl prints, or replays of `fairopt replay -o`: who is owed less and more, and
    who waits. Users, servers and resources are matched by name.
    """
    both = asked.replays(before, after)
    if both is not None:
        from fairopt.report import replay_text

        beside = replay_text.beside(both[0], both[1])
        dump = storage.encoded(beside)
        if path is not None:
            storage.write_text(path, dump + "\n")
        output.to_stdout(dump if as_json else replay_text.beside_words(beside))
        return 0
    from fairopt.auditing.between import differences
    from fairopt.report.audit_text import differences_text

    found = differences(asked.answer(before), asked.answer(after))
    dump = storage.encoded(found.to_dict())
    if path is not None:
        storage.write_text(path, dump + "\n")
    output.to_stdout(dump if as_json else differences_text(found))
    return 0
