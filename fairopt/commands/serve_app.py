"""What `fairopt serve` answers with: the page of a plan, the plan, and questions to it, as JSON.

A text after `---` in the docstring of an endpoint is its part of the OpenAPI schema.
"""

from __future__ import annotations

import contextlib
import json
import secrets
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairopt import __version__, solve, storage, threads
from fairopt.auditing.between import differences
from fairopt.certificates.tolerance import TOLERANCE
from fairopt.commands import asked, notion_options
from fairopt.connect.plan import made as plans
from fairopt.errors import FairoptError, UsageError
from fairopt.report.html import page, plan_data
from fairopt.solving import near as nearby

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response

    from fairopt.allocation import Allocation

MOST_BYTES = 1 << 20
"""most bytes of a question"""
LEAST_MOVE = 1e-6
"""tasks that count as moved"""
QUESTIONS = ("set", "add_server", "drop", "add")


class Served:
    """A plan, and what would change it.

    Parameters
    ----------
    plan : fairopt/plan/v1. source : what messages call it. version : its number, by which a page
        knows whether it is the last.
    """

    def __init__(self, plan: Mapping[str, Any], source: str, version: int = 1) -> None:
        self.plan, self.text = plan, plans.dumps(plan)
        self.asked = asked.of_plan(plan, source)
        self.notion = notion_options.chosen(self.asked.model, None, None, {})
        self.answer = asked.answer_of(plan, source)
        self._solving = threading.RLock()
        self._kept: tuple[str, Allocation] | None = None
        title = Path(source).name
        shown = {"title": title, "live": version, **plan_data.data_of(self.text, source)}
        self.page = page.page([shown], title)

    def what_if(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Who loses and who gains by changes, typed as the options of `fairopt what-if`.

        Raises
        ------
        FairoptError : a change that cannot be made, or an answer that is not certified.
        """
        given = self._given(question)
        return differences(self.answer, self._changed(given)).to_dict()

    def moves(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """What stops and starts after changes, if as much as can be stays where this plan has it.

        Raises
        ------
        FairoptError : as of `what_if`, and a notion or cluster of which that is not known.
        """
        given = self._given(question)
        held = nearby.checked(self.answer, self._changed(given).instance, self.notion)
        with self._solving, threads.one():
            after = self._changed(given)
            found = nearby.answer(after, after.score, held, TOLERANCE, beside=True)
        step = found.steps[-1]
        # what is less than LEAST_MOVE is rounding, and no move
        pair = ("stopped", "started")
        counts = {name: float(step[name]) if step[name] > LEAST_MOVE else 0.0 for name in pair}
        gone = self.answer.tasks.sum() - held.sum()  # of users and servers that are no more
        change = found.tasks - held
        rows = [
            {"user": user, "stopped": float(less), "started": float(more)}
            for user, less, more in zip(
                found.instance.users,
                np.maximum(-change, 0.0).sum(axis=1).tolist(),
                np.maximum(change, 0.0).sum(axis=1).tolist(),
                strict=True,
            )
            if max(less, more) > LEAST_MOVE
        ]
        return {
            **counts,
            "least": step.get("bound"),
            "status": step["status"],
            "gone": max(float(gone), 0.0),
            "users": sorted(rows, key=lambda row: (-row["stopped"] - row["started"], row["user"])),
        }

    def _given(self, question: Mapping[str, Any]) -> dict[str, list[str]]:
        """The changes of a question, whose form is checked."""
        given = {key: question.get(key, []) for key in QUESTIONS}
        wrong = [key for key in question if key not in QUESTIONS]
        wrong += [
            key
            for key, value in given.items()
            if not isinstance(value, list) or not all(isinstance(text, str) for text in value)
        ]
        if wrong or not any(given.values()):
            found = f"found {wrong[0]!r}" if wrong else "found no change"
            raise UsageError(f"{found}; wanted lists of texts: {', '.join(QUESTIONS)}")
        return given

    def _changed(self, given: Mapping[str, list[str]]) -> Allocation:
        """The answer after changes; that of the last question is kept."""
        key = json.dumps(given, sort_keys=True)
        with self._solving:  # solvers share what they keep: one question at a time
            if self._kept is None or self._kept[0] != key:
                counts, dropped = self.asked.without(given["drop"])
                instance = self.asked.model.instance
                people = dict(asked.newcomer(text, instance) for text in given["add"])
                settings = (*given["set"], *counts)
                other = self.asked.changed(settings, given["add_server"], dropped, people)
                self._kept = key, solve(other, self.notion)
            return self._kept[1]


class Followed:
    """What is served of a file: planned again once it is another; what it was before while it
    cannot be read.

    Parameters
    ----------
    path : a plan, a model, or what kubectl prints; a folder too.

    Raises
    ------
    FairoptError : what is there at first cannot be planned.
    """

    def __init__(self, path: str) -> None:
        self.path, self.version, self.fault = path, 1, ""
        self._reading, self._seen = threading.Lock(), self._stamp()
        self._served = Served(asked.planned(path), path)

    def now(self) -> Served:
        """The plan of the file as it is now, or the last that there was; then `fault` says why."""
        with self._reading:
            seen = self._stamp()
            if seen != self._seen:
                self._seen = seen
                try:
                    plan = asked.planned(self.path)
                    self._served = Served(plan, self.path, self.version + 1)
                    self.version, self.fault = self.version + 1, ""
                except (FairoptError, OSError) as error:
                    self.fault = str(error)
            return self._served

    def state(self) -> dict[str, Any]:
        """The number of the plan served, one more at each change, and what ails the file."""
        self.now()
        return {"version": self.version, "fault": self.fault}

    def _stamp(self) -> tuple[tuple[str, int, int], ...]:
        """Of each file its name, when it was written, and its size; nothing of one that is gone."""
        path = Path(self.path)
        found = []
        for each in sorted(path.iterdir()) if path.is_dir() else [path]:
            with contextlib.suppress(OSError):
                told = each.stat()
                found.append((str(each), told.st_mtime_ns, told.st_size))
        return tuple(found)


class Guard:
    """Lets nobody in who does not say the token.

    Parameters
    ----------
    app : what is guarded. token : what `Authorization: Bearer` must say.
    """

    def __init__(self, app: Any, token: str) -> None:
        self.app, self.wanted = app, f"Bearer {token}".encode()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request, as ASGI has it."""
        if scope["type"] == "http":
            said = dict(scope["headers"]).get(b"authorization", b"")
            if not secrets.compare_digest(said, self.wanted):
                refused = _error("Authorization: found no token or another; wanted Bearer", 401)
                await refused(scope, receive, send)
                return
        await self.app(scope, receive, send)


def application(served: Followed, hosts: list[str], token: str | None = None) -> Any:
    """The ASGI application.

    Parameters
    ----------
    hosts : names by which it may be called; another page's name for this address is refused.
    token : what everybody must say who asks; None where only this machine can.
    """
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.middleware import Middleware
    from starlette.middleware.trustedhost import TrustedHostMiddleware
    from starlette.responses import HTMLResponse, JSONResponse, Response
    from starlette.routing import Route
    from starlette.schemas import SchemaGenerator

    def shown(request: Request) -> Response:
        return HTMLResponse(served.now().page, headers={"X-Content-Type-Options": "nosniff"})

    def plan(request: Request) -> Response:
        """The plan.
        ---
        summary: The plan (fairopt/plan/v1), with its certificate.
        responses:
          200: {description: The plan., content: {application/json: {schema: {type: object}}}}
        """
        return Response(served.now().text, media_type="application/json")

    def state(request: Request) -> Response:
        """The state.
        ---
        summary: The number of the plan, one more at each change, and what ails the file.
        responses:
          200: {description: "version, a number, and fault, a text that is empty if all is well."}
        """
        return JSONResponse(served.state())

    async def what_if(request: Request) -> Response:
        """A change.
        ---
        summary: Who loses and who gains by changes; both answers are certified.
        requestBody:
          required: true
          content:
            application/json:
              schema:
                type: object
                additionalProperties: false
                properties:
                  set: {type: array, items: {type: string}, example: [weight.ml=2]}
                  add_server: {type: array, items: {type: string}, example: [big=3]}
                  drop: {type: array, items: {type: string}, example: [node/gpu-1]}
                  add: {type: array, items: {type: string}, example: ["team=new,queue=ml,cpu=4"]}
        responses:
          200: {description: Users before and after, losers first.}
          400: {description: "What was found, and what was wanted."}
          413: {description: Too long a question.}
        """
        return await answered(request, lambda question: served.now().what_if(question))

    async def answered(
        request: Request, asks: Callable[[Mapping[str, Any]], dict[str, Any]]
    ) -> Response:
        content = b""
        async for part in request.stream():
            content += part
            if len(content) > MOST_BYTES:
                return _error(f"found more than {MOST_BYTES} bytes; wanted a few changes", 413)
        try:
            question = json.loads(content)
            if not isinstance(question, dict):
                raise ValueError("no table")
        except (ValueError, RecursionError) as error:
            return _error(f"found text that is not JSON ({error}); wanted a table", 400)
        try:
            told = await run_in_threadpool(asks, question)
            return Response(storage.encoded(told), media_type="application/json")
        except FairoptError as error:
            return _error(str(error), 400)

    async def moves(request: Request) -> Response:
        """Moves.
        ---
        summary: What stops and starts after changes if as much as can be stays where it is, with
          the least that any fair answer must stop and start.
        requestBody:
          required: true
          content:
            application/json:
              schema: {type: object, description: The changes of /api/what-if.}
        responses:
          200: {description: "Tasks in all (stopped, started, least), and by user."}
          400: {description: "What was found, and what was wanted."}
          413: {description: Too long a question.}
        """
        return await answered(request, lambda question: served.now().moves(question))

    def schema(request: Request) -> Response:
        return JSONResponse(schemas.get_schema(routes=app.routes))

    info = {"title": "fairopt serve", "version": __version__}
    schemas = SchemaGenerator({"openapi": "3.1.0", "info": info})
    middleware = [Middleware(TrustedHostMiddleware, allowed_hosts=hosts)]
    if token is not None:
        middleware.append(Middleware(Guard, token=token))
    app = Starlette(
        routes=[
            Route("/", shown, include_in_schema=False),
            Route("/api/plan", plan),
            Route("/api/state", state),
            Route("/api/what-if", what_if, methods=["POST"]),
            Route("/api/moves", moves, methods=["POST"]),
            Route("/api/openapi.json", schema, include_in_schema=False),
        ],
        middleware=middleware,
    )
    return app


def _error(words: str, status: int) -> JSONResponse:
    from starlette.responses import JSONResponse

    return JSONResponse({"error": words}, status_code=status)
