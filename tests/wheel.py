"""Whether a wheel installs and runs where no compiler is: ``python tests/wheel.py WHEEL``.

Makes an empty environment, installs the wheel with what it needs, and runs the README's
demonstration there, in a folder that holds the scenario alone.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]
DEMO = ROOT / "papers/pcn/scenarios/f2.toml"


def main(wheel: Path) -> None:
    """Installs and tries `wheel`.

    Raises:
        SystemExit: it does not do what it should.
    """
    with tempfile.TemporaryDirectory(prefix="unpause-wheel-") as name:
        place = Path(name)
        venv.create(place / "venv", with_pip=True)
        binaries = place / "venv/bin"
        environment = {
            "PATH": os.pathsep.join([str(binaries), "/usr/bin", "/bin"]),
            "HOME": name,
            **{key: value for key, value in os.environ.items() if key.startswith("PIP_")},
        }

        def run(*command: str) -> str:
            done = subprocess.run(
                command, cwd=place, env=environment, capture_output=True, text=True, check=False
            )
            if done.returncode:
                sys.exit(f"{' '.join(command)}: {done.returncode}\n{done.stdout}{done.stderr}")
            return done.stdout

        for tool in ("cargo", "rustc"):
            if found := shutil.which(tool, path=environment["PATH"]):
                print(f"note: {found} is there; nothing calls it")
        run(str(binaries / "python"), "-m", "pip", "install", "--quiet", str(wheel.resolve()))
        for file in ("LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY-NOTICES.md"):
            if not list(
                (place / "venv").glob(f"lib/python*/site-packages/unpause-*/licenses/{file}")
            ):
                sys.exit(f"{file} is not in the wheel")
        shutil.copy(DEMO, place)
        said = run("unpause", "run", "f2.toml")
        print(said)
        told = re.findall(r"^(?:picture|report|interactive): (\S+)$", said, re.MULTILINE)
        if len(told) != 3:
            sys.exit(f"it tells of {told or 'nothing'} to look at, not of a picture and two pages")
        for file in ("results/f2/manifest.json", *told):
            if not (place / file).is_file():
                sys.exit(f"{file} is not there")
        run("unpause", "validate", "f2.toml")
        run(str(binaries / "python"), "-m", "unpause", "compare", "results/f2")
        # Papers are in the package.
        run("unpause", "reproduce", "qcn-inputs/shared-buffer")
    print(f"{wheel.name}: installs and runs")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
