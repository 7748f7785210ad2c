"""A server of `fairopt serve` on a real socket, while a block runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from fairopt.commands import serve_app


@contextmanager
def listening(served: serve_app.Followed, token: str | None = None) -> Iterator[int]:
    """The port at which it answers."""
    app = serve_app.application(served, ["127.0.0.1"], token)
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    socket = server.config.bind_socket()
    thread = threading.Thread(target=server.run, args=([socket],))
    thread.start()
    while not server.started:
        time.sleep(0.01)
    try:
        yield socket.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join()
        socket.close()
