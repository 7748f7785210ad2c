"""fairopt serve: a plan as a page and a JSON API on this machine."""

from __future__ import annotations

import click

from fairopt.commands import output
from fairopt.errors import MissingExtra

HERE = ("127.0.0.1", "localhost", "::1")
"""names of this machine, for which no token is asked"""


@click.command("serve", context_settings={"max_content_width": 100})
@click.argument("cluster")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8765, show_default=True, help="0: any free."
)
@click.option(
    "--token",
    envvar="FAIROPT_TOKEN",
    help="What `Authorization: Bearer` must say. Without it, one is made and printed where --host "
    "is not this machine.",
)
def command(cluster: str, host: str, port: int, token: str | None) -> int:
    """Answer on http://127.0.0.1:8765 with the page of a plan, and with JSON.

    CLUSTER is a plan, a model, or what kubectl prints; once it is another, it is planned again, and
    nothing is written. `/` is the page of `fairopt report`, which follows, `/api/plan` the plan,
    `/api/state` its number, `/api/what-if` takes the changes of `fairopt what-if` ({"set":
    ["weight.ml=2"], "drop": ["node/gpu-1"]}) and says who loses, `/api/moves` takes the same and
    says what stops and starts, and `/api/openapi.json` says all that.
    Ctrl-C ends it.
    """
    try:
        import uvicorn

        from fairopt.commands import serve_app
    except ImportError as error:
        raise MissingExtra("serve needs its extra: pip install 'fairopt[serve]'") from error
    served = serve_app.Followed(cluster)
    if token is None and host not in HERE:
        import secrets

        token = secrets.token_urlsafe(24)
        output.to_stderr(f"token: {token}")
    hosts = list(dict.fromkeys([*HERE[:2], "[::1]", host])) if host in HERE else ["*"]
    app = serve_app.application(served, hosts, token)
    config = uvicorn.Config(app, host=host, port=port, log_level="warning", access_log=False)
    server = uvicorn.Server(config)
    started = server.config.bind_socket()
    address, number = started.getsockname()[:2]
    output.to_stderr(f"serving {cluster} on http://{address}:{number} (Ctrl-C ends it)")
    server.run([started])
    return 0
