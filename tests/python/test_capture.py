"""A run's packets as Wireshark's command line reads them."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scenarios import PCN, burst, scheme, star

LUA = Path(__file__).parents[2] / "crates/unpause-capture/wireshark/unpause.lua"
UNPAUSE = str(Path(sys.executable).with_name("unpause"))

INCAST = star(
    5,
    PCN,
    scheme("QCN", "qcn"),
    burst("incast", "H1..H4", "H0", size="100KB"),
    rate="10Gbps",
    pfc={"xoff": "30KB"},
    probes={"packets": ["*->*"]},
)


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("captures")
    (folder / "incast.toml").write_text(INCAST)
    for command in (["run", "incast.toml", "-o", "r", "--no-report"], ["export", "r", "--pcapng"]):
        subprocess.run([UNPAUSE, *command], cwd=folder, check=True, capture_output=True)
    return folder / "r/pcapng"


def _tshark(capture: Path, *arguments: str) -> list[str]:
    command = ["tshark", "-X", f"lua_script:{LUA}", "-r", str(capture), *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout.splitlines()


needs_tshark = pytest.mark.skipif(
    shutil.which("tshark") is None, reason="tshark is not installed (Debian: tshark)"
)


@needs_tshark
@pytest.mark.parametrize("name", ["0-PCN.pcapng", "1-QCN.pcapng"])
def test_no_frame_is_malformed_or_unknown(captures: Path, name: str) -> None:
    lines = _tshark(captures / name)
    assert len(lines) > 500
    assert not [line for line in lines if "alformed" in line or "nknown" in line]
    assert not _tshark(captures / name, "-Y", "_ws.malformed")


@needs_tshark
def test_every_frame_has_its_protocol_and_its_fields(captures: Path) -> None:
    fields = [
        "-T",
        "fields",
        "-e",
        "cnp.pcn.rec_rate",
        "-e",
        "ip.src_host",
        "-e",
        "frame.interface_name",
    ]
    decreases = _tshark(captures / "0-PCN.pcapng", "-N", "n", "-Y", "cnp.pcn.decrease==1", *fields)
    rate, source, interface = decreases[0].split("\t")
    assert 0 < int(rate) <= 10_000_000  # kb/s
    assert (source, interface) == ("H0", "H0->S0")

    paused = _tshark(
        captures / "0-PCN.pcapng", "-Y", "macc.opcode==0x0101", "-T", "fields",
        "-e", "macc.cbfc.enbv", "-e", "macc.cbfc.pause_time.c3",
    )  # fmt: skip
    assert paused[0].split("\t") == ["0x0008", "65535"]
    assert paused[-1].split("\t") == ["0x0008", "0"]

    messages = _tshark(
        captures / "1-QCN.pcapng",
        "-Y",
        "cnm",
        "-T",
        "fields",
        "-e",
        "cnm.feedback",
        "-e",
        "cnm.offset",
    )
    feedback, offset = messages[0].split("\t")
    assert 0 < int(feedback) <= 63
    assert int(offset) < 0


@needs_tshark
def test_comments_and_clock_are_those_of_the_table(captures: Path) -> None:
    fields = ["-T", "fields", "-e", "frame.time_epoch", "-e", "frame.comment"]
    first = _tshark(captures / "0-PCN.pcapng", "-Y", "frame.number==1", *fields)[0].split("\t")
    assert first == ["0.000000000", "data, 1048 B as simulated, flow 0"]


def test_flows_come_back(captures: Path) -> None:
    command = [UNPAUSE, "import", "pcap", str(captures / "0-PCN.pcapng"), "-o", "flow.txt"]
    done = subprocess.run(command, cwd=captures, check=True, capture_output=True, text=True)
    assert "host 0 is 10.0.0.1\n" in done.stdout
    # Each packet was traced at its host and at the switch, and counts once.
    lines = (captures / "flow.txt").read_text().splitlines()
    assert lines[:2] == ["4", "1 0 3 4791 100000 0.000000000"]
    again = subprocess.run(command, cwd=captures, capture_output=True, text=True)
    assert again.returncode == 1
    assert "flow.txt exists" in again.stderr
