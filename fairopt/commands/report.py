"""fairopt report: results as one HTML file to look at and to hand on."""

from __future__ import annotations

import click

from fairopt.commands import output


@click.command("report", context_settings={"max_content_width": 100})
@click.argument("results", nargs=-1, required=True, metavar="RESULT...")
@click.option(
    "-o",
    "--output",
    "path",
    metavar="FILE",
    required=True,
    callback=output.early,
    help="Write the page to FILE, whole or not at all; - is stdout.",
)
@click.option("--title", help="Of the window and, with one RESULT, of the page.")
def command(results: tuple[str, ...], path: str, title: str | None) -> int:
    """Draw results into one HTML page that opens from disk and needs no network.

    A RESULT is a file that `fairopt solve -o`, `fill -o`, `sweep -o FILE.json`, `compare -o`,
    `replay -o` or `plan -o` has written, what kubectl prints, or "-" for stdin. An answer is shown
    with its servers filled by user, prices, levels, users and its certificate in words, judged
    again; a sweep with a slider for each parameter (with `fairopt sweep --answers` also its
    servers); a comparison with the properties that fail and where; a replay with what is owed over
    time; a plan with teams, why each workload gets what it gets, nodes and moves. Several results
    make one page.
    """
    # imported late: these import NumPy
    from fairopt import storage
    from fairopt.commands import asked
    from fairopt.report.html import page
    from fairopt.report.html import results as reading

    data = [reading.of_text(asked.result(path), storage.source_name(path)) for path in results]
    if title is not None and len(data) == 1:
        data[0]["title"] = title
    storage.write_text(path, page.page(data, title or " - ".join(each["title"] for each in data)))
    return 0
