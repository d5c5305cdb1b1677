"""Small results made by hand, in the schema of a real one."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import settings

from unpause import Result, Run, schema

MS = 1e6

# No test is answered by a run of another one.
os.environ["UNPAUSE_CACHE"] = "off"

# How long an example takes says nothing about the code on a busy machine.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


@pytest.fixture(scope="session", autouse=True)
def interruptible() -> Iterator[None]:
    """Receive SIGINT even if started in the background by a shell; some tests send it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Names what was skipped, and the command that installs what it needs."""
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = Counter(str(it.longrepr[2]).removeprefix("Skipped: ") for it in skipped)
    if reasons:
        each = "; ".join(f"{count} × {reason}" for reason, count in sorted(reasons.items()))
        terminalreporter.write_line(f"skipped: {each}. All of it: make install-all, make test-all")


#: Opens a page in Chromium; answers it and the list of what it asks for.
Opened = Callable[[str], AbstractContextManager[tuple[Any, list[str]]]]


@pytest.fixture(scope="module")
def opened() -> Iterator[Opened]:
    """Pages in a real browser, where there is one; in none of them stands an error."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("no Chromium here")
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])

        @contextmanager
        def open_page(address: str) -> Iterator[tuple[Any, list[str]]]:
            page = browser.new_page(viewport={"width": 1300, "height": 900})
            errors, asked = [], []
            page.on("console", lambda it: errors.append(it.text) if it.type == "error" else None)
            page.on("pageerror", lambda error: errors.append(str(error)))
            page.on("request", lambda it: None if it.url == "data:," else asked.append(it.url))
            page.goto(address)
            page.wait_for_selector("body[data-ready]")
            yield page, asked
            assert errors == []
            page.close()

        yield open_page
        browser.close()


class Builder:
    """Collects rows; columns that a test does not care about are filled with zeros."""

    def __init__(self) -> None:
        self.rows: dict[str, list[dict[str, Any]]] = {name: [] for name in schema.TABLES}
        self.swept: list[str] = []
        self.source = 'title = "Made by hand"\n'
        # Tables made by hand are not random.
        self.manifest: dict[str, Any] = {"warnings": [], "seeds_alike": [1, 2]}

    def add(self, table: str, **row: Any) -> None:
        self.rows[table].append(row)

    def run(self, scheme: str, run: int | None = None, seed: int = 1, **swept: float) -> int:
        number = len(self.rows["runs"]) if run is None else run
        self.swept = list(swept)
        self.add("runs", run=number, scheme=scheme, seed=seed, simulated_ns=25 * MS, **swept)
        return number

    def flow(self, run: int, traffic: str, **row: Any) -> None:
        flow_id = sum(r["run"] == run for r in self.rows["flows"])
        self.add(
            "flows",
            run=run,
            scheme=self._scheme(run),
            flow_id=flow_id,
            **{"traffic": traffic, "src": "H0", "dst": "R0", "priority": 3, **row},
        )

    def pause(self, run: int, link: str, start_ms: float, end_ms: float) -> None:
        sender, stopped = link.split("->")
        self.add(
            "pauses",
            run=run,
            scheme=self._scheme(run),
            node=stopped,
            peer=sender,
            priority=3,
            obeyed_ns=start_ms * MS,
            start_ns=start_ms * MS,
            end_ns=end_ms * MS,
        )

    def flow_rates(
        self,
        run: int,
        traffic: str,
        time_ms: np.ndarray,
        goodput_gbps: np.ndarray,
        controller_gbps: np.ndarray | None = None,
        flow_id: int = 0,
    ) -> None:
        """A recorded flow whose goodput since the sample before is `goodput_gbps`."""
        step = np.diff(time_ms, prepend=0.0)
        delivered = np.cumsum(goodput_gbps * step * 125_000)
        rate = goodput_gbps if controller_gbps is None else controller_gbps
        for t, d, r in zip(time_ms, delivered, rate, strict=True):
            self.add(
                "flow_series",
                run=run,
                scheme=self._scheme(run),
                time_ns=float(t) * MS,
                flow_id=flow_id,
                traffic=traffic,
                controller_rate_bps=round(r * 1e9),
                sent_bytes=round(d * 1.048),
                delivered_bytes=round(d),
            )

    def port_samples(
        self,
        run: int,
        link: str,
        time_ms: np.ndarray,
        queue_bytes: np.ndarray | float = 0,
        tx_gbps: np.ndarray | float = 0,
        pause_per_ms: np.ndarray | float = 0,
    ) -> None:
        node, peer = link.split("->")
        ones = np.ones(len(time_ms))
        step = np.diff(time_ms, prepend=0.0)
        tx = np.cumsum(tx_gbps * ones * step * 125_000)
        frames = np.cumsum(pause_per_ms * ones * step)
        for t, q, b, f in zip(time_ms, queue_bytes * ones, tx, frames, strict=True):
            self.add(
                "port_series",
                run=run,
                scheme=self._scheme(run),
                time_ns=float(t) * MS,
                node=node,
                peer=peer,
                priority=3,
                queue_bytes=round(q),
                tx_bytes=round(b),
                pause_frames=round(f),
            )

    def _scheme(self, run: int) -> str:
        return next(r["scheme"] for r in self.rows["runs"] if r["run"] == run)

    def tables(self) -> dict[str, pa.Table]:
        tables = {}
        started = Counter(row["run"] for row in self.rows["flows"])
        for row in self.rows["runs"]:
            row.setdefault("flows_started", started[row["run"]])
        for name, columns in schema.TABLES.items():
            fields = [pa.field(c.name, c.type, c.nullable) for c in columns]
            if name == "runs":
                fields[3:3] = [pa.field(s, pa.float64()) for s in self.swept]
            filled = [
                {
                    f.name: row.get(
                        f.name, None if f.nullable else "" if f.type == pa.string() else 0
                    )
                    for f in fields
                }
                for row in self.rows[name]
            ]
            tables[name] = pa.Table.from_pylist(filled, schema=pa.schema(fields))
        return tables

    def result(self) -> Result:
        return Result(self.tables(), source=self.source, manifest=self.manifest)

    def only_run(self) -> Run:
        result = self.result()
        return result.runs_of(result.schemes[0])[0]

    def write(self, directory: Path) -> Path:
        directory.mkdir(parents=True, exist_ok=True)
        for name, table in self.tables().items():
            pq.write_table(table, directory / f"{name}.parquet")
        (directory / "manifest.json").write_text(json.dumps(self.manifest), "utf-8")
        (directory / "scenario.toml").write_text(self.source, "utf-8")
        return directory


@pytest.fixture
def builder() -> Builder:
    return Builder()


@pytest.fixture
def pcn_f2() -> Callable[[], Builder]:
    """A made-up PCN-F2 with two schemes: PFC as the claims have it, and PCN without trouble."""

    def make() -> Builder:
        made = Builder()
        made.source = (
            'title = "Made-up PCN Fig. 2"\nsource = "nobody"\n'
            '[[scheme]]\nname = "PFC"\n'
            '[[scheme]]\nname = "PCN"\ncongestion_control = "pcn"\n'
            '[probes]\nports = ["S0->S1", "S1->S0", "S0->H0", "S0->H1"]\n'
            '[report]\nfigures = ["pcn-f2", "pcn-f3"]\nclaims = ["PCN-F2", "PCN-F3"]\n'
        )
        burst = 5.0
        time = np.arange(0, 25.0001, 0.05)
        during = (time > burst) & (time <= burst + 3.22)
        for scheme in ("PFC", "PCN"):
            run = made.run(scheme)
            for flow_id, (name, share) in enumerate([("F0", 37.5), ("F1", 2.5)]):
                made.flow(run, name, start_ns=0.0, delivered_bytes=1)
                rate = np.full(len(time), 19.08)
                rate[during] = 2.54 if scheme == "PFC" else share
                made.flow_rates(run, name, time, rate, flow_id=flow_id)
            for i in range(4):
                made.flow(
                    run,
                    "burst",
                    src=f"H{i + 2}",
                    dst="R1",
                    size_bytes=64_000,
                    start_ns=burst * MS,
                    fct_ns=(3.22 - 0.1 * i) * MS,
                    ideal_fct_ns=0.03 * MS,
                    slowdown=(3.22 - 0.1 * i) / 0.03,
                    delivered_bytes=64_000,
                )
            for link in ("S0->S1", "S1->S0", "S0->H0", "S0->H1"):
                frames = 80.0 * during if scheme == "PFC" and link != "S0->S1" else 0.0
                made.port_samples(run, link, time, 30_000.0 * during, 38.0, frames)
                node, peer = link.split("->")
                made.add(
                    "ports",
                    run=run,
                    scheme=scheme,
                    node=peer,
                    peer=node,
                    priority=3,
                    rate_bps=40_000_000_000,
                    tx_bytes=50_000_000,
                    max_queue_bytes=500_000,
                    paused_ns=2.8 * MS if scheme == "PFC" and link != "S0->S1" else 0.0,
                )
                if scheme == "PFC" and link != "S0->S1":
                    made.add(
                        "ports",
                        run=run,
                        scheme=scheme,
                        node=node,
                        port=1,
                        peer=peer,
                        priority=3,
                        pause_events=53,
                    )
        for link, start in (("S1->S0", 0.247), ("S0->H0", 0.484), ("S0->H1", 0.484)):
            at = burst + start
            while at < burst + 3.2:
                made.pause(0, link, at, at + 0.04)
                at += 0.05
        return made

    return make


def sweep(builder: Builder) -> Builder:
    """PFC with two limits of F1, and S1 that stops S0 twenty times a millisecond."""
    for limit in (20.0, 5.0):
        run = builder.run("PFC", f1_limit_gbps=limit)
        time = np.arange(1, 201) * 0.05
        for flow_id, name in enumerate(("F0", "F1")):
            builder.flow(run, name)
            builder.flow_rates(run, name, time, np.full(200, 5.0), flow_id=flow_id)
        builder.port_samples(run, "S1->S0", time, pause_per_ms=20.0)
    builder.swept = ["f1_limit_gbps"]
    builder.source = 'title = "F5"\n[report]\nfigures = ["pcn-f5"]\nclaims = ["PCN-F5"]\n'
    return builder


#: Address of a scheduler, worker processes, and the scheduler's.
Cluster = tuple[str, list[subprocess.Popen[bytes]], subprocess.Popen[bytes]]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A scheduler on this machine, and two workers."""
    pytest.importorskip("distributed")
    told = tmp_path / "scheduler.json"
    programs = "distributed.cli.dask_scheduler", "distributed.cli.dask_worker"
    common = ["--host", "127.0.0.1", "--scheduler-file", told, "--no-dashboard"]
    processes = []

    def start(program: str, *arguments: str) -> subprocess.Popen[bytes]:
        command_line = [sys.executable, "-m", program, *common, *arguments]
        with (tmp_path / "dask.log").open("ab") as log:
            process = subprocess.Popen(command_line, cwd=tmp_path, stdout=log, stderr=log)
        processes.append(process)
        return process

    try:
        scheduler = start(programs[0], "--port", "0")
        limit = time.monotonic() + 20
        while not told.is_file() or not told.read_text("utf-8").endswith("}"):
            assert time.monotonic() < limit, (tmp_path / "dask.log").read_text("utf-8")
            time.sleep(0.05)
        workers = [start(programs[1], "--no-nanny", "--nthreads", "1") for _ in range(2)]
        yield json.loads(told.read_text("utf-8"))["address"], workers, scheduler
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait(10)
