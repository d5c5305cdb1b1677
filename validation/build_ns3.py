"""ns-3 from Debian's packages, and programs of ours compiled against it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

HEADERS = Path("/usr/include/ns3")
LIBRARIES = ["applications", "internet", "traffic-control", "point-to-point", "network", "core"]
# What programs share: topologies, routes, devices.
SHARED = Path(__file__).resolve().parent / "ns3"


def provide():
    """Installs ns-3 if it is missing and can be installed."""
    if (HEADERS / "core-module.h").exists():
        return
    install = ["apt-get", "install", "--yes", "--no-install-recommends", "libns3-dev"]
    if not shutil.which("apt-get"):
        sys.exit(
            "error: ns-3 is not installed, and this is not Debian or a relative of it;\n"
            "install ns-3.37 with its headers under /usr and call this again"
        )
    if os.geteuid() != 0:
        sys.exit(
            "error: ns-3 is not installed, and only root can install it;\n"
            f"run `sudo {' '.join(install)}` and call this again"
        )
    subprocess.run(install, check=True)


def build(source: Path, into: Path) -> Path:
    """Compiles a program of ours against ns-3, unless it is newer than its sources."""
    program = into / f"ns3-{source.stem}"
    into.mkdir(parents=True, exist_ok=True)
    changed = max(path.stat().st_mtime for path in [source, *SHARED.glob("*.h")])
    if not program.exists() or program.stat().st_mtime < changed:
        libraries = [f"-lns3-{name}" for name in LIBRARIES]
        compiler = os.environ.get("CXX", "g++")
        flags = ["-O2", "-std=c++17", "-Wall", f"-I{SHARED}"]
        subprocess.run([compiler, *flags, source, "-o", program, *libraries], check=True)
    return program


def version() -> str:
    """Version of the package, as Debian has it; "unknown" where ns-3 is from elsewhere."""
    if not shutil.which("dpkg-query"):
        return "unknown"
    query = ["dpkg-query", "--show", "--showformat=${Version}", "libns3-dev"]
    return subprocess.run(query, capture_output=True, text=True).stdout or "unknown"
