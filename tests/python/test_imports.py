"""Files as other simulators and their users write them: what the command makes of each."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import unpause
from unpause.data.result import Result

CONFIG = """TOPOLOGY_FILE star.txt
FLOW_FILE flows.txt
FCT_OUTPUT_FILE fct.txt
SIMULATOR_STOP_TIME 0.02
CC_MODE 1
PACKET_PAYLOAD_SIZE 1000
ALPHA_RESUME_INTERVAL 1
RATE_DECREASE_INTERVAL 4
RP_TIMER 300
FAST_RECOVERY_TIMES 1
EWMA_GAIN 0.00390625
RATE_AI 40Mb/s
RATE_HAI 80Mb/s
MIN_RATE 100Mb/s
L2_ACK_INTERVAL 1
HAS_WIN 1
GLOBAL_T 1
VAR_WIN 1
KMAX_MAP 2 50000000000 400 100000000000 800
KMIN_MAP 2 50000000000 100 100000000000 200
PMAX_MAP 2 50000000000 0.2 100000000000 0.2
BUFFER_SIZE 12
"""


def star(
    header: str = "6 1 5", rate: str = "50Gbps", delay: str = "0.003ms", last: str = "0"
) -> str:
    """Five hosts, 0 to 4, at switch 5."""
    links = [f"{host} 5 {rate} {delay} {0 if host < 4 else last}" for host in range(5)]
    return "\n".join([header, "5", *links, ""])


def flows(*rows: str, count: int | None = None) -> str:
    return "\n".join([str(len(rows) if count is None else count), *rows, ""])


FLOWS = flows("0 4 3 200 3000 0.001", "1 4 3 200 3000 0.001")


class Told(NamedTuple):
    """The output of a command and its exit code."""

    code: int
    text: str


def command(folder: Path, *words: str) -> Told:
    done = subprocess.run(
        [sys.executable, "-m", "unpause", *words],
        cwd=folder,
        env={**os.environ, "COLUMNS": "1000"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return Told(done.returncode, done.stdout)


def write(folder: Path, config: str = CONFIG, topology: str = "", rows: str = FLOWS) -> None:
    files = (("config.txt", config), ("star.txt", topology or star()), ("flows.txt", rows))
    for name, text in files:
        (folder / name).write_bytes(text.encode())


def imported(folder: Path, *words: str) -> Told:
    return command(folder, "import", "hpcc", "config.txt", "--out", "run.toml", *words)


def lines(folder: Path) -> set[str]:
    """Keys of the scenario, without what follows them."""
    text = (folder / "run.toml").read_text("utf-8")
    return {line.split("  ")[0].rstrip() for line in text.splitlines()}


def ran(folder: Path) -> Result:
    return unpause.run(folder / "run.toml", progress=False)


def starts_ns(result: Result) -> list[float]:
    return sorted(result.flows.column("start_ns").to_pylist())


@pytest.mark.parametrize(
    ("before", "after", "line", "said"),
    [
        ("SIZE 12", "SIZE 12.0", 'buffer = "12MiB"', None),
        ("SIZE 12", "SIZE 0.5", 'buffer = "524288B"', "0.5 MiB, as in forks that read a point"),
        ("SIZE 12", "SIZE 900", 'buffer = "900MiB"', "more than a switch chip has"),
        (
            "HAS_WIN",
            "QLEN_MON_START 2.0\nQLEN_MON_END 2.01\nHAS_WIN",
            'buffer = "12MiB"',
            "QLEN_MON_END: `2.01` is read as 2, as in HPCC's simulator",
        ),
        ("RATE_AI 40Mb/s", "RATE_AI 0Mb/s", 'rate_ai = "1bps"', "a rate of 0 is 1 bit/s"),
        ("EWMA_GAIN 0.00390625", "", 'g = "1/2147483648"', "EWMA_GAIN: it is not set, and then 0"),
        ("TOPOLOGY", "\ufeffTOPOLOGY", 'buffer = "12MiB"', None),
        ("TIME 0.02", "TIME 0.02", 'duration = "20ms"', None),
    ],
)
def test_configurations_are_read_as_there(
    before: str, after: str, line: str, said: str | None, tmp_path: Path
) -> None:
    assert before in CONFIG
    write(tmp_path, CONFIG.replace(before, after, 1))
    told = imported(tmp_path)
    assert told.code == 0, told.text
    assert line in lines(tmp_path)
    if said is None:
        assert "not carried over" not in told.text
    else:
        assert said in told.text


def test_without_a_time_to_stop_a_run_ends_after_its_flows(tmp_path: Path) -> None:
    own = "FLOWGEN_START_TIME 0.001\nFLOWGEN_STOP_TIME 0.004"
    write(tmp_path, CONFIG.replace("SIMULATOR_STOP_TIME 0.02", own))
    told = imported(tmp_path)
    assert (
        "no SIMULATOR_STOP_TIME; the run ends at 10.004s, 10s after FLOWGEN_STOP_TIME" in told.text
    )
    assert "does not know it either" not in told.text
    assert 'duration = "10.004s"' in lines(tmp_path)


def test_a_lossy_run_of_another_balancer_is_refused_by_its_keys(tmp_path: Path) -> None:
    write(tmp_path, CONFIG + "ENABLE_PFC 0\nENABLE_IRN 1\nLB_MODE 9\n")
    told = imported(tmp_path)
    assert told.code == 1
    assert told.text.startswith("error: config.txt:25:9: found LB_MODE 9")
    assert "not DRILL (2), CONGA (3) and ConWeave (9)" in told.text
    assert not (tmp_path / "run.toml").exists()


@pytest.mark.parametrize("base", [[], ["--base", "."]])
def test_files_are_found_where_the_simulator_is_started(base: list[str], tmp_path: Path) -> None:
    (tmp_path / "runs/7").mkdir(parents=True)
    (tmp_path / "nets").mkdir()
    (tmp_path / "runs/7/config.txt").write_text(CONFIG.replace("_FILE ", "_FILE nets/"))
    (tmp_path / "nets/star.txt").write_text(star())
    (tmp_path / "nets/flows.txt").write_text(FLOWS)
    words = ["import", "hpcc", "runs/7/config.txt", "--out", "run.toml", *base]
    assert command(tmp_path, *words).code == 0
    assert len(starts_ns(ran(tmp_path))) == 2
    (tmp_path / "nets/star.txt").unlink()
    told = command(tmp_path, *words, "--force")
    assert told.code == 1
    assert "config.txt:1:15: found TOPOLOGY_FILE nets/star.txt" in told.text
    if not base:
        for tried in ("runs/7", "runs", str(tmp_path)):
            assert tried in told.text


def test_a_bare_name_is_one_of_the_folder_one_is_in(tmp_path: Path) -> None:
    (tmp_path / "mix").mkdir()
    write(tmp_path / "mix", CONFIG.replace("_FILE ", "_FILE mix/"))
    assert imported(tmp_path / "mix").code == 0
    assert len(starts_ns(ran(tmp_path / "mix"))) == 2


RACK = """
6 7
0 6 50000000000.0 2us 0
1 6 50000000000.0 2us 0
2 6 50000000000.0 2us 0
3 7 50000000000.0 2us 0
4 7 50000000000.0 2us 0
5 7 50000000000.0 2us 0
6 7 100000000000.0 4us 0
"""


@pytest.mark.parametrize("header", ["8 2 7", "8 2 2 7", "8 2 2 7 50000000000 100000000000"])
def test_headers_of_three_four_and_six_numbers(header: str, tmp_path: Path) -> None:
    rows = flows("0 3 3 10000 500000 0.001", "1 4 3 10001 500000 0.001")
    write(tmp_path, topology=header + RACK, rows=rows)
    told = imported(tmp_path)
    assert "hosts: 6, switches: 2, links: 7" in told.text
    ports = ran(tmp_path).tables["ports"].to_pylist()
    rates = {(row["node"], row["peer"]): row["rate_bps"] for row in ports}
    assert rates["S6", "S7"] == 100e9
    assert rates["H0", "S6"] == 50e9


def test_words_count_and_carriage_returns_do_not(tmp_path: Path) -> None:
    links = " ".join(f"{host} 5 50Gbps\n0.003ms 0" for host in range(5))
    crlf = FLOWS.replace("\n", "\r\n").replace(" ", "\t")
    write(tmp_path, CONFIG.replace("\n", "\r\n"), f"6 1 5\n5\n{links}\n", crlf)
    told = imported(tmp_path)
    assert "hosts: 5, switches: 1, links: 5" in told.text
    assert "flows.txt: 2 flows" in told.text


def test_a_node_without_a_link_takes_no_part(tmp_path: Path) -> None:
    write(tmp_path, topology=star().replace("6 1 5\n5\n", "7 1 5\n6\n").replace(" 5 5", " 6 5"))
    told = imported(tmp_path)
    assert "H5 has no link and is not used" in told.text
    assert len(starts_ns(ran(tmp_path))) == 2


@pytest.mark.parametrize(
    ("rows", "starts_us", "said"),
    [
        (flows("0 4 3 200 3000 2e-05", "1 4 3 200 3000 1.5E-3"), [20, 1500], None),
        (
            flows("0 4 3 200 0 0.001", "1 4 3 200 3000 0.001"),
            [1000, 1000],
            "1 flow of 0 bytes: each has 1 byte here",
        ),
        (
            flows("0 4 3 200 3000 0.001", "1 4 3 200 3000 0.001", "2 4 3 200 3000 0.001", count=1),
            [1000],
            "2 lines like flows after the 1 announced by the first line: not read, as in "
            "HPCC's simulator",
        ),
        (
            flows("0 4 3 200 3000 0.003", "1 4 3 200 3000 0.001"),
            [1000, 3000],
            "flows are not in order of start: sorted here",
        ),
    ],
)
def test_flow_files_are_read_as_there(
    rows: str, starts_us: list[int], said: str | None, tmp_path: Path
) -> None:
    write(tmp_path, rows=rows)
    told = imported(tmp_path)
    assert told.code == 0, told.text
    assert starts_ns(ran(tmp_path)) == [1000 * start for start in starts_us]
    again = command(tmp_path, "validate", "run.toml")
    if said is None:
        assert "warning" not in again.text
    else:
        assert said in told.text
        assert said in again.text


def test_of_large_ports_the_low_16_bits_count(tmp_path: Path) -> None:
    rows = [f"{host} 4 3 {port} 3000 0.001" for host, port in enumerate((65636, 131172, 100))]
    write(tmp_path, rows=flows(*rows))
    told = imported(tmp_path)
    assert "2 flows with a destination port above 65535: its low 16 bits are the port" in told.text
    assert command(tmp_path, "run", "run.toml", "--no-report", "--out", "r").code == 0
    done = (tmp_path / "r/hpcc/fct.txt").read_text().splitlines()
    assert [line.split()[3] for line in done] == ["100"] * 3


@pytest.mark.parametrize(("words", "number"), [((), 3), (("--parallel", "2"), 4)])
def test_of_two_links_between_two_nodes_the_last_counts(
    words: tuple[str, ...], number: int, tmp_path: Path
) -> None:
    links = "0 2 50Gbps 1us 0\n1 3 50Gbps 1us 0\n2 3 50Gbps 1us 0\n2 3 100Gbps 1us 0\n"
    write(tmp_path, topology=f"4 2 4\n2 3\n{links}", rows=flows("0 1 3 200 3000 0.001"))
    told = imported(tmp_path, *words)
    assert ("carry nothing" in told.text) == (not words)
    assert f"switches: 2, links: {number};" in told.text
    if not words:
        rates = {row["rate_bps"] for row in ran(tmp_path).tables["ports"].to_pylist()}
        assert rates == {50e9, 100e9}


def test_hosts_with_two_nics_send_by_both(tmp_path: Path) -> None:
    links = "".join(f"{host} {tor} 100Gbps 1us 0\n" for host in range(4) for tor in (4, 5))
    rows = [f"0 3 3 {port} 3000 0.001" for port in range(100, 116)]
    write(tmp_path, topology=f"6 2 8\n4 5\n{links}", rows=flows(*rows))
    assert "hosts: 4, switches: 2, links: 8;" in imported(tmp_path).text
    result = ran(tmp_path)
    data = {0: 0, 1: 0}
    for row in result.tables["ports"].to_pylist():
        if row["node"] == "H0":
            data[row["port"]] += row["tx_bytes"]
    assert all(data.values()), "both NICs of H0 send"
    flows_done = result.tables["flows"].to_pylist()
    assert len(flows_done) == 16
    assert all(row["fct_ns"] for row in flows_done)


@pytest.mark.parametrize(
    ("topology", "rows", "said"),
    [
        # Headroom of S5 is rate x delay x 3 of each port, for five ports of 187.5 MB.
        (star(delay="10ms"), FLOWS, "config.txt:22:13: found a buffer of 12582912 B, less than"),
        (star(last="1.5"), FLOWS, "star.txt:7:20: found `1.5`, expected an error rate from 0 to 1"),
        (
            "4 0 4\n\n0 1 100Gbps 4us 0\n1 2 100Gbps 4us 0\n2 3 100Gbps 4us 0\n3 0 100Gbps 4us 0\n",
            FLOWS,
            "hosts do not forward packets, here as in ns-3",
        ),
        (
            "15 4 2 5 22 Z900\n8 9 10 11 12 13\n0 8 2400Gbps 0.00002ms 0\n",
            FLOWS,
            "expected 1 more ids of switches (header of five numbers, links last, and a GPU",
        ),
        ("Nodes 8\nTiers 2\nPodsize 8\n", FLOWS, "found a topology of htsim (.topo)"),
        ("", "Nodes 8\nConnections 4\nTriggers 2\n", "found flows of htsim (.cm)"),
        ("", "HYBRID_TRANSFORMER ep: 1\n1\n", "found a workload of SimAI or astra-sim"),
        (
            "",
            flows("0 4 8 200 3000 0.001"),
            "flows.txt:2:5: found `8`, expected a priority from 0 to 7",
        ),
        (
            "",
            flows("0 4 3 200 3000 0 3000 1500"),
            "flows.txt:2: found `0 4 3 200 3000 0 3000 1500` (8 columns), expected a flow: src dst "
            "pg dport bytes start_s, the same with stop_s, or without dport (6, 7 or 5 columns)",
        ),
    ],
)
def test_what_cannot_be_run_is_refused_where_it_stands(
    topology: str, rows: str, said: str, tmp_path: Path
) -> None:
    write(tmp_path, topology=topology, rows=rows)
    told = imported(tmp_path)
    assert told.code == 1
    assert said in told.text
    assert "run.toml" not in told.text
    assert not (tmp_path / "run.toml").exists()


def test_flows_that_start_after_the_end_are_told_before_the_run(tmp_path: Path) -> None:
    write(tmp_path, rows=flows("0 4 3 200 3000000 2", "1 4 3 200 3000000 2.000001"))
    (tmp_path / "own.toml").write_text(
        'duration = "5ms"\n[topology]\nfile = "star.txt"\n[[scheme]]\nname = "PFC"\n'
        '[[traffic]]\nname = "f"\nkind = "file"\nfile = "flows.txt"\n'
    )
    told = command(tmp_path, "validate", "own.toml")
    assert "all 2 flows of traffic `f` start after the run's end: the first at 2s" in told.text
    assert "the run ends at 5ms" in told.text
    result = unpause.run(tmp_path / "own.toml", progress=False)
    assert any("start after the run's end" in it["message"] for it in result.manifest["warnings"])
