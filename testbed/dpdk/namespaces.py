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
def namespaces(
    nodes: list[str], links: list[tuple[str, str, str, str]]
) -> Iterator[dict[str, str]]:
    """A namespace for each node, by node, with `veth` pairs between them."""
    names = {node: f"{PREFIX}-{os.getpid()}-{node}" for node in nodes}
    remove_left_over()
    try:
        for name in names.values():
            ip("netns", "add", name)
            # Nothing but the programs' frames.
            quiet = "echo 1 > /proc/sys/net/ipv6/conf/all/disable_ipv6"
            ip("netns", "exec", name, "sh", "-c", quiet)
        for near, interface, far, other in links:
            pair = f"{interface} netns {names[near]} type veth peer name {other} netns {names[far]}"
            ip("link", "add", "name", *pair.split())
            ip("-netns", names[near], "link", "set", interface, "up")
            ip("-netns", names[far], "link", "set", other, "up")
        yield names
    finally:
        there = ip("netns", "list")
        for name in names.values():
            if name in there:
                remove(name)
