"""Programs for a switch pipeline: their reader, what they take of a switch, and, with DPDK, their marks."""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DATAPLANE = ROOT / "dataplane"
PROGRAMS = ["ecn-sharp", "np-ecn", "dctcp-red"]
#: Of dataplane/scenarios/.
SCHEMES = {"ecn-sharp": "ECN#", "np-ecn": "PCN", "dctcp-red": "DCTCP-RED"}

needs_cc = pytest.mark.skipif(
    shutil.which("cc") is None or shutil.which("make") is None,
    reason="there is no C compiler or no make: the reader of programs is not built",
)


def has_dpdk() -> bool:
    if shutil.which("pkg-config") is None:
        return False
    found = subprocess.run(["pkg-config", "--exists", "libdpdk"], check=False)
    return found.returncode == 0 and Path("/usr/include/pcap/pcap.h").is_file()


needs_dpdk = pytest.mark.skipif(
    not has_dpdk(),
    reason="DPDK is not installed: no packet goes through the programs (`make dataplane` installs it)",
)


def make(target: str, build: Path, **variables: object) -> str:
    words = [f"{name}={value}" for name, value in variables.items()]
    done = subprocess.run(
        ["make", "--no-print-directory", "-C", DATAPLANE, f"BUILD={build}", target, *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def checker(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[int, str]]:
    build = tmp_path_factory.mktemp("dataplane")
    make("check", build)

    def run(*arguments: object) -> tuple[int, str]:
        done = subprocess.run(
            [build / "swx-check", *map(str, arguments)], capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout + done.stderr

    return run


def spec(program: str) -> Path:
    return DATAPLANE / "programs" / f"{program}.spec"


def entries(program: str) -> Path:
    return DATAPLANE / "tests" / f"{program}.entries"


@needs_cc
@pytest.mark.parametrize("program", PROGRAMS)
def test_programs_and_their_entries_are_right(checker: Callable, program: str) -> None:
    code, said = checker(spec(program), entries(program))
    assert code == 0, said
    assert "headers" in said


#: What is changed in which program, and what is said of it.
MISTAKES = [
    ("np-ecn", "sub m.held 1", "sub m.hold 1", "no field `m.hold`; did you mean `held`?"),
    ("np-ecn", "sub m.held 1", "sbu m.held 1", "no instruction `sbu` here; did you mean `sub`?"),
    ("np-ecn", "sub m.held 1", "sub m.held", "`sub` with 1 operands; expected 2"),
    ("np-ecn", "sub m.held 1", "sub m.held 4294967296", "4294967296 does not fit in 32 bits"),
    ("np-ecn", "sub m.held 1", "sub t.held 1", "no field `t.held`"),
    ("np-ecn", "table non_pause\n", "table non_paus\n", "no table `non_paus`; did you mean `non_pause`?"),
    ("np-ecn", "NONE : return", "return", "no label `NONE` in this block"),
    ("np-ecn", "jmpeq NONE m.held 0", "NONE : jmpeq NONE m.held 0", "a jump back to `NONE`"),
    ("np-ecn", "NONE : return", "NONE : mov m.mark 0", "the last instruction is `mov`; expected `return`"),
    ("np-ecn", "regarray held size 1024", "regarray held size 1000", "must be a power of two"),
    ("np-ecn", "bit<32> held", "bit<33> held", "a field of 33 bits; SWX has whole bytes only"),
    ("np-ecn", "bit<32> held", "bit<32 held", "`bit<32`; expected `bit<N>`"),
    ("np-ecn", "m.was_paused exact", "m.was_paused lpm", "match `lpm`; expected `exact` or `wildcard`"),
    ("np-ecn", "m.was_paused exact", "h.tm.event exact", "SWX takes all keys of a table from one struct"),
    ("np-ecn", "rx m.port_in\n", "rx h.tm.port\n", "`h.tm.port`; expected a metadata field, `m.NAME`"),
    ("np-ecn", "metadata instanceof metadata_t", "", "no metadata; expected `metadata instanceof STRUCT`"),
    ("np-ecn", "tx m.port_out\n}", "tx m.port_out\n", "a block that is not closed"),
    ("dctcp-red", "apply {", "aply {", "did you mean `apply`?"),
    ("dctcp-red", "BELOW : return", "jmp BELOW\n\tBELOW : return", None),
    ("dctcp-red", "header tm instanceof tm_t", "header tm instanceof tn_t", "did you mean `tm_t`?"),
    ("dctcp-red", "shl", "shl", None),
    ("ecn-sharp", "shr m.wait 10", "shr m.wait 64", "a shift by 64; at most 63"),
    ("ecn-sharp", "mov m.count 1\n", "mov m.count 010\n", "`010`; expected a field or a number"),
    ("ecn-sharp", "default_action watch", "default_action watch", None),
    ("ecn-sharp", "default_action unwatched args none\n", "default_action watch args none\n", "lacks its argument"),
]


@needs_cc
@pytest.mark.parametrize(("program", "old", "new", "said"), MISTAKES)
def test_mistakes_in_programs_have_their_line(
    checker: Callable, tmp_path: Path, program: str, old: str, new: str, said: str | None
) -> None:
    text = spec(program).read_text("utf-8")
    broken = tmp_path / "broken.spec"
    broken.write_text(text.replace(old, new, 1), "utf-8")
    code, answer = checker(broken)
    if said is None:
        assert code == 0, answer
        return
    assert code == 1
    assert said in answer
    line = text[: text.index(old)].count("\n") + 1
    found = re.match(rf"error: {re.escape(str(broken))}:(\d+): ", answer)
    if found is None:
        assert "no metadata" in answer
        return
    # A block or a jump is named by its own line.
    assert abs(int(found[1]) - line) <= 40
    if "did you mean" in said and "block" not in said:
        assert int(found[1]) == line


@needs_cc
@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("table parameter match 0 action watch", "no table `parameter`"),
        ("table parameters match 256 action unwatched", "m.priority is 256; it has 8 bits, so at most 255"),
        ("table parameters match 0 action mark_ce", "action `mark_ce` is not among those of table `parameters`"),
        (
            "table parameters match 0 action watch ins_target 4294967296",
            "ins_target is 4294967296; it has 32 bits, so at most 4294967295",
        ),
        ("table parameters match 0 action watch pst_target 1", "expected `ins_target` here"),
        ("register division 16 1", "index `16` of regarray `division`; expected 0 to 15"),
        ("default tick_low action clock_low", "the default action of table `tick_low` is const"),
        ("entry", "`entry`; expected `table`, `default` or `register`"),
    ],
)
def test_mistakes_in_entries_have_their_line(
    checker: Callable, tmp_path: Path, entry: str, said: str
) -> None:
    path = tmp_path / "entries.txt"
    path.write_text(f"# a comment\n{entry}\n", "utf-8")
    code, answer = checker(spec("ecn-sharp"), path)
    assert code == 1
    assert answer.startswith(f"error: {path}:2: ")
    assert said in answer


@needs_cc
def test_a_register_that_is_touched_twice_is_refused(checker: Callable, tmp_path: Path) -> None:
    text = spec("ecn-sharp").read_text("utf-8")
    broken = tmp_path / "broken.spec"
    twice = text.replace("	regwr deadline m.queue 0\n", "	regwr deadline m.queue 0\n" * 2)
    broken.write_text(twice, "utf-8")
    code, answer = checker("resources", broken, entries("ecn-sharp"))
    assert (code, "touches regarray `deadline` more than once" in answer) == (1, True)
    other = text.replace("	regwr episode m.queue 0\n", "	regwr deadline m.queue 0\n")
    broken.write_text(other, "utf-8")
    code, answer = checker("resources", broken, entries("ecn-sharp"))
    assert (code, "is touched from tables `persistence` and `conservative`" in answer) == (1, True)


@needs_cc
@pytest.mark.parametrize("program", PROGRAMS)
def test_the_document_says_what_a_program_takes(checker: Callable, program: str) -> None:
    code, said = checker("resources", spec(program), entries(program))
    assert code == 0
    document = (ROOT / "docs" / "dataplane.md").read_text("utf-8")
    table = document.split(f"<!-- resources {program} -->\n")[1].split("<!-- end -->")[0]
    assert table.strip() == said.strip()


@needs_cc
def test_no_text_crashes_the_reader(tmp_path: Path) -> None:
    program = "int main(void) { return 0; }"
    flags = ["-fsanitize=address,undefined", "-x", "c", "-", "-o", tmp_path / "empty"]
    probe = subprocess.run(["cc", *flags], input=program, capture_output=True, text=True, check=False)
    if probe.returncode != 0:
        pytest.skip("the compiler has no sanitizers: the reader is not fuzzed")
    assert "programs" in make("fuzz", tmp_path, SECONDS=2, SEED=7)


def unpause(*arguments: object) -> str:
    code = "import sys; from unpause.cli import main; sys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def swx(tmp_path_factory: pytest.TempPathFactory) -> Path:
    build = tmp_path_factory.mktemp("swx")
    make(str(build / "swx"), build)
    return build / "swx"


def equal(swx: Path, program: Path, control: Path, sequence: Path) -> tuple[int, str]:
    done = subprocess.run(
        [swx, "equal", program, control, sequence], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def sequence(place: Path, program: str, scenario: str = "websearch", packets: int = 20_000) -> Path:
    file = DATAPLANE / "scenarios" / f"{scenario}.toml"
    path = place / f"{program}-{scenario}.seq"
    unpause(
        *("dataplane", "random", file, "--scheme", SCHEMES[program]),
        *("--packets", packets, "--out", path),
    )
    unpause("dataplane", "build", file, "--scheme", SCHEMES[program], "--out", place / program)
    return path


def test_a_program_is_built_with_its_entries_and_a_manifest(tmp_path: Path) -> None:
    for program in PROGRAMS:
        sequence(tmp_path, program, packets=1)
        assert (tmp_path / program / f"{program}.spec").read_bytes() == spec(program).read_bytes()
        # What the reader is tried with is what is built today.
        assert (tmp_path / program / "entries.txt").read_bytes() == entries(program).read_bytes()
        assert (tmp_path / program / "manifest.json").is_file()


def marks(path: Path) -> list[int]:
    """The state machine's marks in a file of records of 44 bytes."""
    data = path.read_bytes()[24:]
    return [data[at + 41] for at in range(0, len(data), 44)]


@needs_dpdk
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("scenario", ["websearch", "corners"])
def test_every_mark_is_the_state_machine_s(
    swx: Path, tmp_path: Path, program: str, scenario: str
) -> None:
    path = sequence(tmp_path, program, scenario)
    control = tmp_path / program / "entries.txt"
    code, said = equal(swx, spec(program), control, path)
    assert code == 0, said
    counted = re.match(r"20000 packets, (\d+) PAUSE and resume, (\d+) marks, 0 mismatches", said)
    assert counted is not None, said
    assert (int(counted[1]) > 0) == (program == "np-ecn")
    assert 0 < int(counted[2]) <= sum(marks(path))


@needs_dpdk
def test_a_mark_that_differs_is_told(swx: Path, tmp_path: Path) -> None:
    path = sequence(tmp_path, "dctcp-red")
    control = tmp_path / "dctcp-red" / "entries.txt"
    control.write_text(control.read_text("utf-8").replace("80000", "80001"), "utf-8")
    code, said = equal(swx, spec("dctcp-red"), control, path)
    if code == 0:
        pytest.fail(said)
    assert code == 1
    assert "the state machine marks it, the program does not" in said


def capture(path: Path, frames: list[tuple[int, bytes]]) -> None:
    """Writes frames with their times in nanoseconds."""
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1))
        for time, frame in frames:
            size = len(frame)
            file.write(struct.pack("<IIII", time // 10**9, time % 10**9, size, size) + frame)


def captured(path: Path) -> list[bytes]:
    data = path.read_bytes()[24:]
    frames = []
    while data:
        size = struct.unpack("<I", data[8:12])[0]
        frames.append(data[16 : 16 + size])
        data = data[16 + size :]
    return frames


def datagram(number: int) -> bytes:
    """1000 bytes, ECT(0)."""
    header = bytearray(struct.pack(">BBHHHBBHII", 0x45, 2, 986, number, 0, 64, 17, 0, 1, 2))
    total = sum(struct.unpack(">10H", header))
    header[10:12] = struct.pack(">H", ~((total & 0xFFFF) + (total >> 16)) & 0xFFFF)
    return bytes(12) + b"\x08\x00" + bytes(header) + bytes(966)


def pause(priority: int, quanta: int) -> bytes:
    frame = bytearray(60)
    frame[12:18] = struct.pack(">HHH", 0x8808, 0x0101, 1 << priority)
    frame[18 + 2 * priority : 20 + 2 * priority] = struct.pack(">H", quanta)
    return bytes(frame)


@needs_dpdk
def test_real_packets_are_forwarded_and_held_ones_go_unmarked(swx: Path, tmp_path: Path) -> None:
    # 1 Gb/s sends a packet in 8.192 us; one comes every 5 us, and after 100 us a PAUSE of 49.7 us.
    frames = [(5_000 * i, datagram(i)) for i in range(60)]
    frames += [(100_000, pause(3, 97)), (200_001, bytes(12) + b"\x08\x06" + bytes(46))]
    frames += [(200_002, bytes(10)), (200_003, bytes(12) + b"\x08\x00" + bytes(5))]
    capture(tmp_path / "in.pcap", sorted(frames, key=lambda it: it[0]))
    done = subprocess.run(
        [swx, "run", spec("np-ecn"), entries("np-ecn")]
        + ["--in", f"pcap:{tmp_path}/in.pcap", "--out", f"pcap:{tmp_path}/out.pcap"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == (
        "64 packets received, 0 without room, 2 malformed, 61 forwarded, 2 PAUSE and resume\n"
    ), done.stderr
    out = captured(tmp_path / "out.pcap")
    of_ip = [frame for frame in out if frame[12:14] == b"\x08\x00"]
    assert [frame[18:20] for frame in of_ip] == [struct.pack(">H", i) for i in range(60)]
    shown = "".join(str(frame[15] & 3) for frame in of_ip)
    # Two that left nothing behind, a backlog, what the PAUSE held, a backlog, and the last.
    assert re.fullmatch("22(3{11})(2{17})(3{29})2", shown), shown
    for frame in of_ip:
        assert sum(struct.unpack(">10H", frame[14:34])) % 0xFFFF == 0


@needs_dpdk
def test_swx_s_own_source_and_sink_give_the_same_marks(swx: Path, tmp_path: Path) -> None:
    path = sequence(tmp_path, "ecn-sharp", packets=3000)
    subprocess.run([swx, "frames", path, tmp_path / "in.pcap", "3000"], check=True)
    subprocess.run(
        [swx, "run", spec("ecn-sharp"), tmp_path / "ecn-sharp" / "entries.txt"]
        + ["--in", f"source:{tmp_path}/in.pcap", "--out", f"pcap:{tmp_path}/out.pcap"],
        check=True,
        capture_output=True,
    )
    out = captured(tmp_path / "out.pcap")
    expected = [mark for mark in marks(path)]
    assert len(out) == len(expected) == 3000
    for frame, mark in zip(out, expected, strict=True):
        if mark and frame[12:14] == b"\x08\x00":
            assert frame[15] & 3 == 3
