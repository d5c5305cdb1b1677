"""Frames of crates/unpause-wire as scapy reads and writes them.

`built.txt` holds frames that the crate builds; `scapy.txt` the same as scapy builds them, which
the crate's tests read. `UNPAUSE_BLESS=1 pytest tests/python/test_wire.py` makes `scapy.txt` anew.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from scapy.contrib.mac_control import MACControlClassBasedFlowControl, MACControlPause
from scapy.contrib.roce import AETH, BTH, CNPPadding
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.l2 import Dot1Q, Ether
from scapy.packet import Packet, Raw

FRAMES = Path(__file__).parents[2] / "crates/unpause-wire/tests/frames"
PAYLOAD = bytes(at % 256 for at in range(1000))
SENDER, RECEIVER = "02:00:00:00:00:01", "02:00:00:00:00:02"
ECT0, CE, NOT_ECT = 2, 3, 0
CN_TAG, CNM = 0x22E9, 0x22E7


def _table(name: str) -> dict[str, bytes]:
    lines = (FRAMES / name).read_text().splitlines()
    pairs = (line.split(" ") for line in lines if not line.startswith("#"))
    return {name: bytes.fromhex(digits) for name, digits in pairs}


BUILT = _table("built.txt")


def _ethernet(source: str = SENDER, destination: str = RECEIVER, **fields: int) -> Packet:
    return Ether(src=source, dst=destination, **fields)


def _ip(ecn: int) -> Packet:
    return IP(tos=24 << 2 | ecn, id=0x1234, flags="DF", ttl=64, src="10.0.0.1", dst="10.0.0.2")


def _roce(ecn: int, transport: Packet) -> Packet:
    return _ip(ecn) / UDP(sport=0xC123, dport=4791, chksum=0) / transport


def _data(opcode: int, payload: bytes) -> Packet:
    padding = -len(payload) % 4
    header = BTH(
        opcode=opcode,
        migreq=1,
        padcount=padding,
        dqpn=0x0ABCDE,
        ackreq=int(opcode == 4),
        psn=0xFEDCBA,
    )
    return _roce(ECT0, header / Raw(payload + bytes(padding)))


def _acknowledgement(syndrome: int) -> Packet:
    header = BTH(opcode=0x11, migreq=1, dqpn=0x11, psn=0x1000)
    return _roce(NOT_ECT, header / AETH(syndrome=syndrome, msn=7))


def _cnp(ecn: int, rec_rate: int, becn: int) -> Packet:
    header = BTH(opcode=0x81, migreq=1, dqpn=0xD2, psn=0, becn=becn)
    reserved = CNPPadding(reserved1=rec_rate << 32, reserved2=0)
    return _roce(ecn, header / reserved)


def _tcp(flags: str, options: list, payload: bytes = b"") -> Packet:
    header = TCP(
        sport=50_000,
        dport=5001,
        seq=0x89ABCDEF,
        ack=0x01234567,
        flags=flags,
        window=0xFEDC,
        options=options,
    )
    return _ip(CE) / header / payload


def _pfc(classes: dict[int, int], times: list[int] | None = None) -> Packet:
    times = times or [classes.get(priority, 0) for priority in range(8)]
    enabled = {f"c{priority}_enabled": int(priority in classes) for priority in range(8)}
    pauses = {f"c{priority}_pause_time": time for priority, time in enumerate(times)}
    return MACControlClassBasedFlowControl(**enabled, **pauses)


def _cnm(feedback: int, sampled: bytes) -> bytes:
    return b"".join(
        [
            feedback.to_bytes(2, "big"),
            bytes(range(1, 9)),
            (-2031).to_bytes(2, "big", signed=True),
            (77).to_bytes(2, "big", signed=True),
            (3 << 13).to_bytes(2, "big"),
            bytes.fromhex(RECEIVER.replace(":", "")),
            len(sampled).to_bytes(2, "big"),
            sampled,
        ]
    )


def _qcn(ether_type: int, inner: bytes) -> Packet:
    tag = Dot1Q(prio=5, vlan=42, type=CN_TAG)
    flow = (0x0A0B).to_bytes(2, "big")
    body = flow + ether_type.to_bytes(2, "big") + inner
    return _ethernet(RECEIVER, SENDER) / tag / Raw(body)


def _frames() -> Iterator[tuple[str, Packet]]:
    control = _ethernet(destination="01:80:c2:00:00:01", type=0x8808)
    times = [1, 0x0202, 0xFFFF, 0x0404, 0, 0x0606, 0x0707, 0x0808]
    yield "pause", control / MACControlPause(pause_time=0xFFFF)
    yield "pause-resume", control / MACControlPause(pause_time=0)
    yield "pfc-priority-3", control / _pfc({3: 0xFFFF})
    yield "pfc-resume-3", control / _pfc({3: 0})
    yield "pfc-several", control / _pfc(dict.fromkeys([0, 2, 5, 7], 0), times)
    routed = {
        "roce-send-only": _data(4, PAYLOAD),
        "roce-send-first": _data(0, PAYLOAD[:256]),
        "roce-send-middle": _data(1, PAYLOAD[:64]),
        "roce-send-last-1-byte": _data(2, PAYLOAD[9:10]),
        "roce-send-last-2-bytes": _data(2, PAYLOAD[9:11]),
        "roce-send-last-3-bytes": _data(2, PAYLOAD[9:12]),
        "roce-ack": _acknowledgement(31),
        "roce-nak": _acknowledgement(0x60),
        "roce-cnp": _cnp(NOT_ECT, 0, 1),
        "roce-cnp-pcn-decrease": _cnp(CE, 2499, 1),
        "roce-cnp-pcn-increase": _cnp(NOT_ECT, 0, 0),
    }
    stamps = ("Timestamp", (0x11223344, 0x55667788))
    gap = [("NOP", None), ("NOP", None)]
    sack = ("SAck", (1000, 2000, 3000, 4000, 5000, 6000))
    syn = [("MSS", 1460), ("NOP", None), ("WScale", 7), *gap, ("SAckOK", b""), *gap, stamps]
    routed |= {
        "tcp-syn": _tcp("SEC", syn),
        "tcp-data": _tcp("PA", [*gap, stamps], PAYLOAD[:501]),
        "tcp-ack-ece": _tcp("AE", []),
        "tcp-ack-sack": _tcp("A", [*gap, stamps, *gap, sack]),
    }
    for name, packet in routed.items():
        yield name, _ethernet() / packet
    yield "qcn-cnm", _qcn(CNM, _cnm(63, b""))
    yield "qcn-cnm-with-sampled-frame", _qcn(CNM, _cnm(1, PAYLOAD[:64]))
    yield "qcn-tagged-data", _qcn(0x0800, bytes(_data(1, PAYLOAD[:256])))


def _padded(packet: Packet) -> bytes:
    return bytes(packet).ljust(60, b"\0")


def test_scapy_builds_the_recorded_bytes() -> None:
    text = "# Frames without FCS that scapy builds: see tests/python/test_wire.py.\n"
    text += "".join(f"{name} {_padded(packet).hex()}\n" for name, packet in _frames())
    path = FRAMES / "scapy.txt"
    if os.environ.get("UNPAUSE_BLESS"):
        path.write_text(text)
    assert path.read_text() == text


@pytest.mark.parametrize("name", BUILT)
def test_scapy_reads_what_the_crate_builds(name: str) -> None:
    """Taken apart into fields and built again by scapy, checksums and CRC computed anew."""
    frame = Ether(BUILT[name])
    for layer in frame.iterpayloads():
        for field in ("chksum", "icrc", "len", "dataofs"):
            if field in layer.fields and not (field == "chksum" and isinstance(layer, UDP)):
                delattr(layer, field)
    assert bytes(frame) == BUILT[name]


def test_scapy_finds_the_fields() -> None:
    cnp = Ether(BUILT["roce-cnp-pcn-decrease"])
    assert (cnp[BTH].opcode, cnp[BTH].becn, cnp[BTH].dqpn) == (0x81, 1, 0xD2)
    assert cnp[CNPPadding].reserved1 >> 32 == 2499
    assert cnp[IP].tos & 3 == CE
    nak = Ether(BUILT["roce-nak"])
    assert (nak[AETH].syndrome, nak[AETH].msn, nak[BTH].psn) == (0x60, 7, 0x1000)
    pfc = Ether(BUILT["pfc-several"])[MACControlClassBasedFlowControl]
    assert [getattr(pfc, f"c{n}_enabled") for n in range(8)] == [1, 0, 1, 0, 0, 1, 0, 1]
    assert pfc.c7_pause_time == 0x0808
    syn = Ether(BUILT["tcp-syn"])[TCP]
    assert dict(syn.options)["MSS"] == 1460
    assert str(syn.flags) == "SEC"
