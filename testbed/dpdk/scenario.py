"""What programs are told, from the file that the simulator reads."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

UNITS_PS = {"ps": 1, "ns": 10**3, "us": 10**6, "ms": 10**9, "s": 10**12}
# As the host program makes them: payload and headers, FCS included.
PAYLOAD_BYTES, FRAME_BYTES = 1000, 1062
# More than any run sends.
ENDLESS = 2**40


def quantity(text: str, units: dict[str, int]) -> int:
    """A whole number of the smallest unit."""
    for unit in sorted(units, key=len, reverse=True):
        if text.endswith(unit):
            return round(float(text.removesuffix(unit)) * units[unit])
    raise SystemExit(f"error: `{text}`: expected a number and one of {', '.join(units)}")


def time_ps(text: str) -> int:
    """Picoseconds."""
    return quantity(text, UNITS_PS)


def size(text: str) -> int:
    """Bytes."""
    return quantity(text, {"B": 1, "KB": 10**3, "MB": 10**6})


def rate(text: str) -> int:
    """Bits per second."""
    return quantity(text, {"kbps": 10**3, "Mbps": 10**6, "Gbps": 10**9})


@dataclass
class Flow:
    """A flow from a host to another."""

    name: str
    source: str
    destination: str
    start_ps: int
    packets: int

    @property
    def is_endless(self) -> bool:
        """It goes on until the run ends."""
        return self.packets == ENDLESS


@dataclass
class Fabric:
    """The hosts, and the neighbours at the ports of each switch, in order."""

    hosts: list[str]
    ports: dict[str, list[str]]

    @classmethod
    def read(cls, topology: dict, file: Path) -> Fabric:
        """One switch, or two with a link between them."""
        match topology["builder"]:
            case "single-switch":
                hosts = [f"H{n}" for n in range(topology["hosts"])]
                return cls(hosts, {"S0": hosts})
            case "two-switch" if "bottleneck_rate" not in topology:
                left, right = topology["left"], topology["right"]
                return cls([*left, *right], {"S0": [*left, "S1"], "S1": ["S0", *right]})
        raise SystemExit(
            f"error: {file}: `single-switch` or `two-switch` with one rate is expected"
        )

    def number(self, host: str) -> int:
        """Of its addresses, from 1."""
        return self.hosts.index(host) + 1

    def routes(self, switch: str) -> list[int]:
        """By which port each host is reached."""
        ports = self.ports[switch]
        other = [port for port, node in enumerate(ports) if node in self.ports]
        return [ports.index(host) if host in ports else other[0] for host in self.hosts]

    def port_of(self, host: str) -> tuple[str, int]:
        """The switch and its port that a host is at."""
        (at,) = [(s, ports.index(host)) for s, ports in self.ports.items() if host in ports]
        return at

    def links(self) -> list[tuple[str, str, str, str]]:
        """Node and interface, node and interface, of each link."""
        made, links = set(), []
        for switch, ports in self.ports.items():
            for port, node in enumerate(ports):
                far = f"port{self.ports[node].index(switch)}" if node in self.ports else "eth0"
                if (node, far) not in made:
                    links.append((switch, f"port{port}", node, far))
                    made.add((switch, f"port{port}"))
        return links


@dataclass
class Scenario:
    """One run."""

    fabric: Fabric
    rate_bps: int
    delay_ps: int
    seconds: int
    xoff: int
    xon: int
    period_ps: int
    w_min: float
    flows: list[Flow]

    @classmethod
    def read(cls, path: Path) -> Scenario:
        """Reads it; what the programs cannot do is refused."""
        file = tomllib.loads(path.read_text("utf-8"))
        scheme, topology, host = file["scheme"][0], file["topology"], file["host"]
        beside = file.keys() & {"sweep", "switch"}
        if scheme["congestion_control"] != "pcn" or len(file["scheme"]) != 1 or beside:
            raise SystemExit(f"error: {path}: one scheme of PCN, without a sweep, is expected")
        frame = size(host["payload"]) + size(host["header"])
        if (frame, host["preamble_and_gap"]) != (FRAME_BYTES, "20B"):
            raise SystemExit(
                f"error: {path}: payload 1000B, header 62B, preamble_and_gap 20B are expected"
            )
        xoff = size(file["pfc"]["xoff"])
        flows = [
            Flow(
                it["name"],
                it["from"],
                it["to"],
                time_ps(it.get("start", "0s")),
                size(it["size"]) // PAYLOAD_BYTES if "size" in it else ENDLESS,
            )
            for it in file["traffic"]
        ]
        pcn = scheme["pcn"]
        return cls(
            Fabric.read(topology, path),
            rate(topology["rate"]),
            time_ps(topology["delay"]),
            time_ps(file["duration"]) // UNITS_PS["s"],
            xoff,
            xoff - 2 * frame,
            time_ps(pcn["period"]),
            float(pcn["w_min"]),
            flows,
        )

    @property
    def w_min_q32(self) -> int:
        """As the C library takes it."""
        return round(self.w_min * 2**32)

    def queue_pair(self, flow: Flow) -> int:
        """That the host program gives a flow."""
        of_host = [it for it in self.flows if it.source == flow.source]
        return 16 * self.fabric.number(flow.source) + of_host.index(flow)
