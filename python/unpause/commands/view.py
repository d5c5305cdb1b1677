"""``unpause view``: the interactive page of a result that is too large for one file.

``unpause view DIR`` serves the page of :mod:`unpause.pages.explore` on this machine alone, at
an address with a token that nobody can guess, until Ctrl-C. Of a run the page first gets what a
file would have; of a window of time that it zooms into, and of tables, it gets as much as it shows,
read from the Parquet tables. Nothing is served by its path.
"""

from __future__ import annotations

import argparse
import asyncio
import hmac
import math
import secrets
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any

from tornado.httpserver import HTTPServer
from tornado.netutil import bind_sockets
from tornado.web import Application, HTTPError, RequestHandler

from unpause.claims.claim import ClaimsError, judged
from unpause.data import unfinished
from unpause.data.result import Result, Run, load
from unpause.errors import ResultError
from unpause.pages import explore, explored
from unpause.pages.explore import Explored
from unpause.pages.explored import Detail
from unpause.pages.packed import Pack
from unpause.pages.rows import SHOWN, Rows
from unpause.sweeps import grouped

_HOST = "127.0.0.1"
#: Tables come row by row; windows show PAUSEs in more detail.
_DETAIL = Detail(0, 100_000)
_MOST_ROWS = 10_000
_MOST_PIXELS = 10_000
_MOST_DIGITS = 18
#: No run lasts for 31 years.
_MOST_NS = 1e18
#: A page asks in a few hundred bytes, and sends no body.
_LIMITS = {
    "max_header_size": 1 << 16,
    "max_body_size": 1 << 10,
    "idle_connection_timeout": 300.0,
    "body_timeout": 10.0,
}
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; connect-src 'self'; img-src data:; frame-ancestors 'none'; "
    "base-uri 'none'; form-action 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class Bad(Exception):
    """Unknown request; the message names the valid ones."""


class Answers:
    """Answers the requests of a page. Called by one thread at a time.

    Args:
        result: What it is of.
    """

    def __init__(self, result: Result) -> None:
        try:
            claims = judged(result)
        except ClaimsError:
            claims = []  # the report says so
        self._explored = Explored({"": result})
        self._page = explore.html(self._explored.about(claims, server=True, report=False)).encode()
        self._rows = lru_cache(maxsize=8)(lambda number, table: Rows(self._run(number), table))
        self._frame = lru_cache(maxsize=64)(
            lambda number: explored.frame(self._run(number), _DETAIL, [])
        )

    def page(self, _: Mapping[str, str]) -> bytes:
        """The page, without any run."""
        return self._page

    def run(self, asked: Mapping[str, str]) -> bytes:
        """Run `n`, as a file would have it."""
        return self._frame(_whole(asked, "n", 0, len(self._explored.runs) - 1))

    def window(self, asked: Mapping[str, str]) -> bytes:
        """Of run `n` from `from` to `to`, ns, the line `name`, and all PAUSEs, for `pixels`."""
        run = self._run(_whole(asked, "n", 0, len(self._explored.runs) - 1))
        span = _number(asked, "from"), _number(asked, "to")
        if not 0 <= span[0] < span[1]:
            raise Bad(f"from {span[0]:g} to {span[1]:g} is not a time window")
        pixels = _whole(asked, "pixels", 1, _MOST_PIXELS)
        return explored.window(run, asked.get("name", ""), span, pixels)

    def rows(self, asked: Mapping[str, str]) -> bytes:
        """Of run `n` the first `most` rows of `table` with the words `find`, sorted by `sort`."""
        number = _whole(asked, "n", 0, len(self._explored.runs) - 1)
        name = asked.get("table", "")
        if name not in SHOWN:
            raise Bad(f"no table {name!r}; there are {', '.join(SHOWN)}")
        rows: Rows = self._rows(number, name)
        found = rows.with_text(asked.get("find", ""))
        sort = asked.get("sort", "")
        if sort:
            heads = [column.name for column in rows.shown.columns]
            if sort not in heads:
                raise Bad(f"table {name} has no column {sort!r}; there are {', '.join(heads)}")
            found = rows.ordered(sort, asked.get("down") == "1", found)
        most = _whole(asked, "most", 1, _MOST_ROWS)
        return Pack().frame({**rows.told(found[:most]), "found": len(found)})

    def _run(self, number: int) -> Run:
        return self._explored.runs[number].run


def _number(asked: Mapping[str, str], name: str) -> float:
    try:
        number = float(asked[name])
    except (KeyError, ValueError):
        number = math.nan
    if not abs(number) <= _MOST_NS:
        raise Bad(f"{name} is {asked.get(name, 'missing')}, not a number")
    return number


def _whole(asked: Mapping[str, str], name: str, least: int, most: int) -> int:
    text = asked.get(name, "")
    fits = text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
    if not fits or not least <= int(text) <= most:
        raise Bad(f"{name} is {text or 'missing'}, not a number from {least} to {most}")
    return int(text)


class _Handler(RequestHandler):
    """Answers requests that have the token and name this machine as host."""

    def initialize(self, answers: Answers, token: str, thread: ThreadPoolExecutor) -> None:
        self._token, self._thread = token, thread
        self._answers: dict[str, Callable[[Mapping[str, str]], bytes]] = {
            "": answers.page,
            "run": answers.run,
            "window": answers.window,
            "rows": answers.rows,
        }

    def set_default_headers(self) -> None:
        self.clear_header("Server")
        for name, value in _HEADERS.items():
            self.set_header(name, value)

    def prepare(self) -> None:
        # A page from elsewhere may have made its own name point here (DNS rebinding).
        name, _, _ = self.request.host.partition(":")
        if name not in (_HOST, "localhost"):
            raise HTTPError(403)

    async def get(self, token: str, what: str) -> None:
        if not hmac.compare_digest(token.encode(), self._token.encode()):
            raise HTTPError(404)
        if what not in self._answers:
            raise HTTPError(404)
        asked = {name: self.get_query_argument(name) for name in self.request.query_arguments}
        kind = "application/octet-stream" if what else "text/html; charset=utf-8"
        loop = asyncio.get_running_loop()
        try:
            found = await loop.run_in_executor(self._thread, self._answers[what], asked)
        except Bad as error:
            self.set_status(400)
            kind, found = "text/plain; charset=utf-8", str(error).encode()
        except ResultError as error:
            self.set_status(500)
            kind, found = "text/plain; charset=utf-8", str(error).encode()
        self.set_header("Content-Type", kind)
        await self.finish(found)

    def write_error(self, status_code: int, **_: Any) -> None:
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        self.finish(f"{status_code}\n")


async def _serve(answers: Answers, directory: Path, port: int) -> None:
    token = secrets.token_urlsafe(24)
    with ThreadPoolExecutor(1) as thread:
        settings = {"answers": answers, "token": token, "thread": thread}
        application = Application(
            [(r"/([^/]+)/([^/]*)", _Handler, settings)], log_function=lambda _: None
        )
        [socket] = bind_sockets(port, _HOST)
        server = HTTPServer(application, **_LIMITS)
        server.add_socket(socket)
        address = f"http://{_HOST}:{socket.getsockname()[1]}/{token}/"
        print(f"{directory}: {address}\npress Ctrl-C to stop", flush=True)
        await asyncio.Event().wait()


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of ``unpause view``; answers the exit code."""
    parser = argparse.ArgumentParser(
        prog="unpause view", description="Browse a result of any size in the browser."
    )
    parser.add_argument("directory", type=Path, help="of a result")
    parser.add_argument("--port", type=int, default=0, help="to listen at [default: a free one]")
    options = parser.parse_args(arguments)
    try:
        if grouped.is_sweep(options.directory):
            raise ResultError(
                f"{options.directory} is a sweep: it has one row per run, too little for an "
                f"interactive page\nhint: {options.directory / 'report.html'} has its charts"
            )
        result = unfinished.stopped(options.directory) or load(options.directory)
        asyncio.run(_serve(Answers(result), options.directory, options.port))
    except KeyboardInterrupt:
        print("ended", file=sys.stderr)
    except (ResultError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    from unpause import signals

    sys.exit(signals.run(main))
