"""The page of ``unpause view``: what is served, to whom, and what a browser makes of it."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import numpy as np
import pytest

import unpause
from conftest import Opened
from test_explain import SHARED
from test_explore import PROBES, about
from unpause import text
from unpause.commands import view
from unpause.data import series


@dataclass
class Served:
    """A server that runs."""

    directory: Path
    address: str
    process: subprocess.Popen[str]

    def ask(
        self, what: str, *, path: str | None = None, host: str | None = None, **asked: Any
    ) -> tuple[int, bytes, dict[str, str]]:
        place = urlsplit(self.address)
        assert place.hostname
        connection = http.client.HTTPConnection(place.hostname, place.port, timeout=30)
        target = f"{place.path if path is None else path}{what}"
        headers = {"Host": host} if host else {}
        connection.request("GET", f"{target}?{urlencode(asked, quote_via=quote)}", headers=headers)
        answer = connection.getresponse()
        return answer.status, answer.read(), dict(answer.getheaders())

    def frame(self, what: str, **asked: Any) -> dict[str, Any]:
        code, body, _ = self.ask(what, **asked)
        assert code == 200, body
        return opened_frame(body)


def opened_frame(body: bytes) -> dict[str, Any]:
    whole = zlib.decompress(body)
    length = int.from_bytes(whole[:4], "little")
    told = json.loads(whole[4 : 4 + length])
    told["numbers"] = np.frombuffer(whole[4 + length :], "<i4")
    return told


def values(frame: dict[str, Any], place: list[int], scale: float = 1, origin: float = 0) -> Any:
    first, count = place[:2]
    return np.cumsum(frame["numbers"][first : first + count], dtype=float) * scale + origin


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    at = tmp_path_factory.mktemp("viewed") / "shared"
    unpause.run(SHARED.replace("causes = true", PROBES), progress=False).write(at)
    process = _start(at)
    assert process.stdout is not None
    found = re.search(r"http://\S+", process.stdout.readline())
    assert found
    assert process.stdout.readline() == "press Ctrl-C to stop\n"
    yield Served(at, found[0], process)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "ended\n")


def _start(directory: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "unpause", "view", str(directory)]
    return subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def test_it_is_served_on_this_machine_alone_to_who_knows_the_address(served: Served) -> None:
    place = urlsplit(served.address)
    assert place.hostname == "127.0.0.1"
    assert len(place.path) > 24
    assert served.ask("")[0] == 200
    for path in ("/", "/wrong/", place.path[:-2] + "/"):
        assert served.ask("", path=path)[0] == 404
    assert served.ask("", host="example.org")[0] == 403
    assert served.ask("", host=f"example.org:{place.port}")[0] == 403
    assert served.ask("", host=f"localhost:{place.port}")[0] == 200


def test_nothing_is_served_by_its_path(served: Served) -> None:
    for path in ("manifest.json", "../manifest.json", "..%2Fmanifest.json", "/etc/passwd", "run/"):
        code, body, _ = served.ask(path)
        assert code in (400, 404)
        assert b"unpause" not in body


def test_nothing_may_be_loaded_or_kept(served: Served) -> None:
    _, _, headers = served.ask("")
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert headers["Cache-Control"] == "no-store"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert "Server" not in headers


def test_two_addresses_differ(served: Served) -> None:
    process = _start(served.directory)
    assert process.stdout is not None
    other = process.stdout.readline().split()[-1]
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=60)
    assert urlsplit(other).path != urlsplit(served.address).path
    assert process.returncode == 0


def test_bad_questions_are_answered(served: Served) -> None:
    for what, asked, answer in (
        ("run", {"n": 99}, "n is 99, not a number from 0 to 1"),
        ("run", {}, "n is missing"),
        ("window", {"n": 0, "from": 5, "to": 5, "pixels": 10}, "from 5 to 5 is not a time window"),
        ("window", {"n": 0, "from": "x", "to": 5, "pixels": 10}, "from is x, not a number"),
        ("window", {"n": 0, "from": 0, "to": "inf", "pixels": 10}, "to is inf, not a number"),
        ("window", {"n": 0, "from": 0, "to": "1e308", "pixels": 10}, "to is 1e308, not a number"),
        ("run", {"n": "9" * 4_300}, "not a number from 0 to 1"),
        ("run", {"n": "²"}, "n is ², not a number from 0 to 1"),
        ("rows", {"n": 0, "table": "secrets", "most": 5}, "no table 'secrets'; there are flows"),
        ("rows", {"n": 0, "table": "flows", "sort": "x", "most": 5}, "has no column 'x'"),
        ("rows", {"n": 0, "table": "flows", "most": 10**9}, "from 1 to 10000"),
    ):
        code, body, _ = served.ask(what, **asked)
        assert code == 400
        assert answer in body.decode()


def _connected(address: str) -> socket.socket:
    place = urlsplit(address)
    return socket.create_connection((place.hostname, place.port), timeout=60)


def test_slow_clients_hold_up_nobody(served: Served) -> None:
    process = _start(served.directory)
    assert process.stdout is not None
    found = re.search(r"http://\S+", process.stdout.readline())
    assert found
    own = Served(served.directory, found[0], process)
    path = urlsplit(own.address).path
    with contextlib.ExitStack() as opened:
        for _ in range(40):
            # Half a question, or a whole one and no reader of its answer.
            for question in (
                f"GET {path} HTTP/1.1\r\nHost: ",
                f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n",
            ):
                connection = opened.enter_context(_connected(own.address))
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                connection.sendall(question.encode())
        assert own.ask("")[0] == 200
        assert own.ask("run", n=0)[0] == 200
        # It ends although they are there.
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (0, "ended\n")


@pytest.mark.skipif(sys.platform != "linux", reason="/proc says how much memory a process has")
@pytest.mark.parametrize(
    "request_",
    [
        b"GET /" + b"a" * 1_000_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 1_000_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"X: a\r\n" * 200_000 + b"\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99000000\r\n\r\n"
        + b"a" * 99_000_000,
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        + b"100000\r\n"
        + b"a" * 0x100000
        + b"\r\n",
    ],
    ids=["path", "header", "headers", "body", "chunks"],
)
def test_large_requests_are_refused(served: Served, request_: bytes) -> None:
    status = Path(f"/proc/{served.process.pid}/status")

    def peak_kb() -> int:
        found = re.search(r"VmHWM:\s*(\d+)", status.read_text())
        assert found
        return int(found[1])

    assert served.ask("")[0] == 200
    before = peak_kb()
    with _connected(served.address) as connection:
        # The rest is not taken.
        with contextlib.suppress(ConnectionError):
            connection.sendall(request_)
        answer = b""
        with contextlib.suppress(ConnectionError):
            answer = connection.recv(100)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 4"), answer
    assert peak_kb() - before < 20_000
    assert served.ask("")[0] == 200


def test_many_at_once_get_what_each_asked_for(served: Served) -> None:
    asked = [{"n": 0, "from": 1000 * k, "to": 1000 * k + 50_000, "pixels": 50} for k in range(40)]
    alone = [served.ask("window", name="", **each) for each in asked]
    with ThreadPoolExecutor(len(asked)) as threads:
        together = list(threads.map(lambda each: served.ask("window", name="", **each), asked))
    assert [answer[:2] for answer in together] == [answer[:2] for answer in alone]
    assert len({body for _, body, _ in alone}) > 10


def test_the_page_has_no_run_in_it(served: Served) -> None:
    html = served.ask("")[1].decode()
    assert '<script id="run-' not in html
    assert about(html)["server"] is True
    assert about(html)["leftOut"] == []


def test_a_window_has_every_sample_of_the_table(served: Served) -> None:
    [run] = unpause.load(served.directory).runs_of("PFC")
    line = series.port(run, "S1->R1")
    asked = {"n": 0, "from": 3e5, "to": 4e5, "name": "S1->R1", "pixels": 1000}
    found = served.frame("window", **asked)
    it = found["ports"]["S1->R1"]
    inside = (line.time_ns >= 2.5e5) & (line.time_ns <= 4.5e5)
    times = values(found, it["time"], found["unit"], found["start"])
    assert times == pytest.approx(line.time_ns[inside])
    assert values(found, it["queue_bytes"]) == pytest.approx(line.queue_bytes[inside])
    # Few pixels have the extremes.
    few = served.frame("window", **{**asked, "pixels": 4})
    queue = values(few, few["ports"]["S1->R1"]["queue_bytes"])
    assert len(queue) < inside.sum()
    assert queue.max() == line.queue_bytes[inside].max()
    assert queue.min() == line.queue_bytes[inside].min()


def test_a_window_has_the_pauses_that_reach_into_it(served: Served) -> None:
    [run] = unpause.load(served.directory).runs_of("PFC")
    every = series.pauses_by_link(run)["S1->S0"]
    found = served.frame("window", **{"n": 0, "from": 3e5, "to": 4e5, "name": "", "pixels": 10_000})
    it = found["ports"]["S0->S1"]
    reach = every[(every[:, 1] >= 2.5e5) & (every[:, 0] <= 4.5e5)].clip(2.5e5, 4.5e5)
    assert values(found, it["start"], found["unit"], found["start"]) == pytest.approx(reach[:, 0])
    assert values(found, it["end"], found["unit"], found["start"]) == pytest.approx(reach[:, 1])


def test_rows_are_sorted_and_found_by_the_server(served: Served) -> None:
    [run] = unpause.load(served.directory).runs_of("PFC")
    flows = run.table("flows").to_pylist()
    found = served.frame("rows", n=0, table="flows", find="burst r1", sort="FCT", down="1", most=3)
    heads = [name for name, _ in found["heads"]]
    fcts = found["columns"][heads.index("FCT")]
    longest = sorted((it["fct_ns"] for it in flows if it["traffic"] == "burst"), reverse=True)
    assert fcts == [round(it) for it in longest[:3]]
    assert (found["total"], found["found"], found["count"]) == (len(flows), 10, 3)


def until(page: Any, condition: str) -> None:
    """Waits; the policy of the page lets Playwright's own waiting not evaluate texts."""
    for _ in range(200):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    pytest.fail(f"never: {condition}")


def test_the_page_moves_about_as_the_file_does(served: Served, opened: Opened) -> None:
    [run] = unpause.load(served.directory).runs_of("PFC")
    with opened(served.address) as (page, asked):
        page.evaluate('choose("S1->R1")')
        page.evaluate("zoom(3e5, 4e5)")
        until(page, "run().near && run().near.name === 'S1->R1'")
        line = series.port(run, "S1->R1")
        inside = (line.time_ns >= 2.5e5) & (line.time_ns <= 4.5e5)
        shown = page.evaluate(
            'Array.from(values(run().near, run().near.ports["S1->R1"].queue_bytes))'
        )
        assert shown == line.queue_bytes[inside].tolist()
        page.get_by_role("tab", name="Flows").click()
        until(page, "document.querySelectorAll('#table tbody tr').length === 12")
        page.locator("#filter").fill("B3")
        until(page, "document.querySelectorAll('#table tbody tr').length === 1")
        [flow] = [it for it in run.table("flows").to_pylist() if it["src"] == "B3"]
        assert text.time(flow["fct_ns"]) in page.locator("#table tbody").inner_text()
        assert all(it.startswith(served.address) for it in asked)


def test_what_cannot_be_viewed_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert view.main([str(tmp_path / "nowhere")]) == 1
    assert "no such directory" in capsys.readouterr().err
    (tmp_path / "sweep.json").write_text("{}")
    assert view.main([str(tmp_path)]) == 1
    assert "is a sweep" in capsys.readouterr().err


def test_a_stopped_run_is_shown_as_far_as_it_came(served: Served, tmp_path: Path) -> None:
    kept = tmp_path / "stopped" / ".unpause" / "runs" / "0123"
    kept.mkdir(parents=True)
    for file in served.directory.glob("*.parquet"):
        (kept / file.name).write_bytes(file.read_bytes())
    (kept / "run.json").write_text("{}")
    process = _start(tmp_path / "stopped")
    assert process.stdout is not None
    address = process.stdout.readline().split()[-1]
    other = Served(tmp_path, address, process)
    trees = other.frame("run", n=0)["trees"]
    assert trees[0]["root"] == "S1->R1"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert "interrupted; this covers" in err
