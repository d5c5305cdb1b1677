"""Network namespaces of the testbed: made, and taken away whatever happens."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# The process that made it is part of the name, so that what a killed one left is known by it.
PREFIX = "unpause-dpdk"


def ip(*arguments: str) -> str:
    """What iproute2 prints; ends the program if it fails."""
    done = subprocess.run(["ip", *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"error: ip {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def remove(name: str) -> None:
    """Ends what runs in a namespace, then removes it, and with it the links in it."""
    for pid in ip("netns", "pids", name).split():
        with suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)
    ip("netns", "delete", name)


def remove_left_over() -> None:
    """Removes namespaces of runs that are no more."""
    for line in ip("netns", "list").splitlines():
        name = line.split()[0] if line else ""
        owner = name.removeprefix(f"{PREFIX}-").split("-")[0]
        if name.startswith(f"{PREFIX}-") and not Path("/proc", owner).exists():
            print(f"removing {name}, left by a run that was killed")
            remove(name)


@contextmanager
def star(hosts: int) -> Iterator[tuple[str, list[str]]]:
    """A namespace of a switch with interfaces port0, port1, …, and one for each host, with eth0."""
    names = [f"{PREFIX}-{os.getpid()}-{node}" for node in ["S0", *(f"H{n}" for n in range(hosts))]]
    remove_left_over()
    try:
        for name in names:
            ip("netns", "add", name)
            # Nothing but the programs' frames.
            quiet = "echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6"
            ip("netns", "exec", name, "sh", "-c", quiet)
        switch, ends = names[0], names[1:]
        for number, end in enumerate(ends):
            pair = f"eth0 netns {end} type veth peer name port{number} netns {switch}"
            ip("link", "add", "name", *pair.split())
            ip("-netns", switch, "link", "set", f"port{number}", "up")
            ip("-netns", end, "link", "set", "eth0", "up")
        yield switch, ends
    finally:
        there = ip("netns", "list")
        for name in names:
            if name in there:
                remove(name)
