"""Programs for a switch pipeline: their reader, what they take, and, with DPDK, their marks."""

from __future__ import annotations

import itertools
import re
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from unpause.mechanisms import tofino_division

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
    reason="DPDK is not installed, so no packet goes through the programs: see `make dataplane`",
)


def told(*command: object, text: str | None = None) -> tuple[int, str]:
    """Exit code, and what a command says."""
    words = [str(word) for word in command]
    done = subprocess.run(words, input=text, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def make(target: str, build: Path, **variables: object) -> str:
    words = [f"{name}={value}" for name, value in variables.items()]
    code, said = told(
        "make", "--no-print-directory", "-C", DATAPLANE, f"BUILD={build}", target, *words
    )
    assert code == 0, said
    return said


@pytest.fixture(scope="module")
def checker(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[int, str]]:
    build = tmp_path_factory.mktemp("dataplane")
    make("check", build)
    return lambda *arguments: told(build / "swx-check", *arguments)


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


#: In which program what is changed to what, what is said of it, and where, if not there.
MISTAKES = [
    ("sub m.held 1", "sub m.hold 1", "no field `m.hold`; did you mean `held`?", ...),
    ("sub m.held 1", "sbu m.held 1", "no instruction `sbu` here; did you mean `sub`?", ...),
    ("sub m.held 1", "sub m.held", "`sub` with 1 operands; expected 2", ...),
    ("sub m.held 1", "sub m.held 4294967296", "4294967296 does not fit in 32 bits", ...),
    ("sub m.held 1", "sub m.held 010", "`010`; expected a field or a number", ...),
    ("sub m.held 1", "shl m.held 64", "a shift by 64; at most 63", ...),
    ("sub m.held 1", "sub t.held 1", "no field `t.held`", ...),
    ("table non_pause\n", "table non_paus\n", "did you mean `non_pause`?", ...),
    ("NONE : return", "return", "no label `NONE` in this block", "jmpeq NONE m.held 0"),
    ("jmpeq NONE m.held 0", "NONE : jmpeq NONE m.held 0", "a jump back to `NONE`", ...),
    ("NONE : return", "NONE : mov m.mark 0", "is `mov`; expected `return`", ...),
    ("regarray held size 1024", "regarray held size 1000", "must be a power of two", ...),
    ("bit<32> held", "bit<33> held", "a field of 33 bits; SWX has whole bytes only", ...),
    ("bit<32> held", "bit<32 held", "`bit<32`; expected `bit<N>`", ...),
    ("m.was_paused exact", "m.was_paused lpm", "expected `exact` or `wildcard`", ...),
    ("m.was_paused exact", "h.tm.event exact", "takes all keys of a table from one struct", ...),
    ("rx m.port_in\n", "rx h.tm.port\n", "expected a metadata field, `m.NAME`", ...),
    ("metadata instanceof metadata_t", "", "no metadata; expected `metadata instanceof", None),
    ("tx m.port_out\n}", "tx m.port_out\n", "a block that is not closed", "apply {"),
    ("apply {", "aply {", "did you mean `apply`?", ...),
    ("header tm instanceof tm_t", "header tm instanceof tn_t", "did you mean `tm_t`?", ...),
    (
        "args none\n\tsize 8",
        "args held 1\n\tsize 8",
        "`held` after the arguments",
        "table parameters {",
    ),
]


@needs_cc
@pytest.mark.parametrize(("old", "new", "said", "where"), MISTAKES)
def test_mistakes_in_programs_have_their_line(
    checker: Callable, tmp_path: Path, old: str, new: str, said: str, where: object
) -> None:
    text = spec("np-ecn").read_text("utf-8")
    broken = tmp_path / "broken.spec"
    broken.write_text(text.replace(old, new, 1), "utf-8")
    code, answer = checker(broken)
    assert code == 1
    assert said in answer
    if where is None:
        assert answer.startswith(f"error: {broken}: ")
    else:
        line = text[: text.index(old if where is ... else str(where))].count("\n") + 1
        assert answer.startswith(f"error: {broken}:{line}: ")


WATCH = "table parameters match 0 action watch"


@needs_cc
@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("table parameter match 0 action watch", "no table `parameter`"),
        ("table parameters match 256 action unwatched", "m.priority is 256; it has 8 bits"),
        ("table parameters match 0 action mark_ce", "is not among those of table `parameters`"),
        (f"{WATCH} ins_target 4294967296", "it has 32 bits, so at most 4294967295"),
        (f"{WATCH} pst_target 1", "expected `ins_target` here"),
        ("register division 16 1", "index `16` of regarray `division`; expected 0 to 15"),
        ("default tick_low action clock_low", "default action of table `tick_low` is const"),
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
    flags = ["-fsanitize=address,undefined", "-x", "c", "-", "-o", tmp_path / "empty"]
    code, _ = told("cc", *flags, text="int main(void) { return 0; }")
    if code != 0:
        pytest.skip("the compiler has no sanitizers: the reader is not fuzzed")
    assert "programs" in make("fuzz", tmp_path, SECONDS=2, SEED=7)


def block(program: str, name: str) -> tuple[list[list[str]], dict[str, int]]:
    """The words of an action's instructions, and the widths of metadata."""
    text = re.sub(";.*", "", spec(program).read_text("utf-8"))
    body = re.search(rf"action {name} args .*?\{{\n(.*?)\n\}}", text, re.DOTALL)
    metadata = re.search(r"struct metadata_t \{\n(.*?)\n\}", text, re.DOTALL)
    assert body is not None
    assert metadata is not None
    widths = {
        f"m.{field}": int(bits) for bits, field in re.findall(r"bit<(\d+)> (\w+)", metadata[1])
    }
    return [line.split() for line in body[1].splitlines() if line.split()], widths


def execute(program: str, name: str, m: dict[str, int], registers: dict[str, list[int]]) -> None:
    """An action, by what the instructions mean."""
    code, widths = block(program, name)
    labels = {words[0]: at for at, words in enumerate(code) if words[1:2] == [":"]}

    def value(word: str) -> int:
        return m[word] if word in widths else int(word, 0)

    alu = {
        "mov": lambda _, b: b,
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "or": lambda a, b: a | b,
        "shl": lambda a, b: a << b,
        "shr": lambda a, b: a >> b,
    }
    tests = {
        "jmp": lambda: True,
        "jmpeq": lambda a, b: a == b,
        "jmpneq": lambda a, b: a != b,
        "jmplt": lambda a, b: a < b,
        "jmpgt": lambda a, b: a > b,
    }
    at = 0
    while True:
        words = code[at][2:] if code[at][1:2] == [":"] else code[at]
        at += 1
        match words:
            case ["return"]:
                return
            case ["regrd", field, array, index]:
                m[field] = registers[array][value(index)] % 2 ** widths[field]
            case ["regwr", array, index, source]:
                registers[array][value(index)] = value(source)
            case [jump, label, *operands] if jump in tests:
                at = labels[label] if tests[jump](*map(value, operands)) else at
            case [operation, field, source]:
                m[field] = alu[operation](m[field], value(source)) % 2 ** widths[field]


def past(now: int, due: int) -> bool:
    return 0 < (now - due) % 2**32 < 2**31


@pytest.mark.parametrize("interval", [5, 195, 1000, 97_656, 976_562, 2**31 - 1])
def test_the_division_of_the_program_is_the_state_machine_s(interval: int) -> None:
    """Also where no sequence gets: an episode of 65,536 marks, or of 2^32 - 1."""
    counts = [*range(1, 300), 4095, 4096, 65_535, 65_536, 65_537, 2**29, 2**32 - 2, 2**32 - 1]
    # T[m] is the quotient by m = 8 to 15 in units of 2^e, the smallest that leave it 7 bits.
    scale = next(e for e in range(-9, 32) if interval <= 8 * 127 * 2.0**e)
    table = [0] * 8 + [-int(-interval // (2.0**scale * m)) for m in range(8, 16)]
    for before, now in itertools.product(counts, [1000, 2**32 - 5]):
        due = (now - 7) % 2**32
        m = dict.fromkeys(block("ecn-sharp", "episode_mark")[1], 0)
        m |= {"m.now": now, "m.pst_interval": interval}
        m |= {"m.scale_left": max(3 + scale, 0), "m.scale_right": max(-3 - scale, 0)}
        registers = {"episode": [before << 32 | due], "division": table}
        execute("ecn-sharp", "episode_mark", m, registers)
        count = min(before + 1, 2**32 - 1)
        step = int(tofino_division(interval, [count])[0])
        assert m["m.mark"] == 1
        assert registers["episode"] == [count << 32 | (due + step) % 2**32]


def test_what_is_due_and_past_is_told_across_the_wrap() -> None:
    times = [0, 1, 49, 195, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 195, 2**32 - 49, 2**32 - 1]
    for now, held in itertools.product(times, times):
        m = dict.fromkeys(block("ecn-sharp", "deadline_test")[1], 0)
        m |= {"m.now": now, "m.pst_interval": 49}
        registers = {"deadline": [held]}
        execute("ecn-sharp", "deadline_test", m, registers)
        # 0 stands for none, so a deadline that comes out as 0 is 1.
        expected = held or (now + 49) % 2**32 or 1
        assert registers["deadline"] == [expected]
        assert m["m.detected"] == (held != 0 and past(now, held))

        m |= {"m.mark": 0, "m.pst_interval": 49}
        registers = {"episode": [3 << 32 | held], "division": [0] * 16}
        execute("ecn-sharp", "episode_mark", m, registers)
        assert m["m.mark"] == past(now, held)


def unpause(*arguments: object) -> str:
    code = "import sys; from unpause.cli import main; sys.exit(main())"
    result, said = told(sys.executable, "-c", code, *arguments)
    assert result == 0, said
    return said


@pytest.fixture(scope="module")
def swx(tmp_path_factory: pytest.TempPathFactory) -> Path:
    build = tmp_path_factory.mktemp("swx")
    make(str(build / "swx"), build)
    return build / "swx"


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
        # The files for the reader are those that are built today.
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
    code, said = told(swx, "equal", spec(program), control, path)
    assert code == 0, said
    counted = re.match(r"20000 packets, (\d+) PAUSE and resume, (\d+) marks, 0 mismatches", said)
    assert counted is not None, said
    assert (int(counted[1]) > 0) == (program == "np-ecn")
    assert 0 < int(counted[2]) <= sum(marks(path))


@needs_dpdk
def test_a_mark_that_differs_is_told(swx: Path, tmp_path: Path) -> None:
    path = sequence(tmp_path, "dctcp-red")
    control = tmp_path / "dctcp-red" / "entries.txt"
    control.write_text(control.read_text("utf-8").replace("80000", "60000"), "utf-8")
    code, said = told(swx, "equal", spec("dctcp-red"), control, path)
    assert code == 1, said
    assert "the program marks it, the state machine does not" in said


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
    ports = ["--in", f"pcap:{tmp_path}/in.pcap", "--out", f"pcap:{tmp_path}/out.pcap"]
    code, said = told(swx, "run", spec("np-ecn"), entries("np-ecn"), *ports)
    counts = "64 packets received, 0 without room, 2 malformed, 61 forwarded, 2 PAUSE and resume\n"
    assert (code, said) == (0, counts)
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
    assert told(swx, "frames", path, tmp_path / "in.pcap", 3000) == (0, "")
    ports = ["--in", f"source:{tmp_path}/in.pcap", "--out", f"pcap:{tmp_path}/out.pcap"]
    control = tmp_path / "ecn-sharp" / "entries.txt"
    code, said = told(swx, "run", spec("ecn-sharp"), control, *ports)
    assert code == 0, said
    out = captured(tmp_path / "out.pcap")
    expected = marks(path)
    assert len(out) == len(expected) == 3000
    for frame, mark in zip(out, expected, strict=True):
        if mark and frame[12:14] == b"\x08\x00":
            assert frame[15] & 3 == 3
