"""Runs every case in both programs, and prints what came of it beside what is on record.

`make validate-ns3` calls it. Fails when a verdict is another than in ns3.json;
`make validate-ns3-update` renews that and the table in docs/validation.md.
"""

import argparse
import importlib.metadata
import json
import os
import sys
import time

from validation import build_ns3, fabric, scheduling, table, tcp
from validation.runs import ROOT, WORK

RECORD = ROOT / "validation" / "ns3.json"
DOCUMENT = ROOT / "docs" / "validation.md"


def main() -> int:
    """Builds, runs, prints, compares with the record or renews it."""
    parser = argparse.ArgumentParser(prog="python -m validation", description=__doc__)
    parser.add_argument("--update", action="store_true", help="renew the record and the document")
    arguments = parser.parse_args()
    build_ns3.provide()
    started = time.monotonic()
    udp_program, tcp_program = (
        build_ns3.build(build_ns3.SHARED / f"{name}.cc", WORK) for name in ("udp", "tcp")
    )
    cases, variants = [], []
    for label, run in [
        ("fat-tree", lambda: fabric.rows(udp_program)),
        ("schedulers", lambda: scheduling.rows(udp_program)),
        ("TCP", lambda: tcp.rows(tcp_program, os.cpu_count() or 1)),
    ]:
        print(f"{time.monotonic() - started:5.0f} s: {label} ...", file=sys.stderr)
        some_cases, some_variants = run()
        cases += some_cases
        variants += some_variants
    record = {
        "versions": {"unpause": importlib.metadata.version("unpause"), "ns3": build_ns3.version()},
        "cases": table.as_record(cases),
        "variants": table.as_record(variants),
    }
    print(table.document(record))
    print(f"{time.monotonic() - started:5.0f} s in all", file=sys.stderr)
    text = json.dumps(record, indent=2) + "\n"
    if arguments.update:
        RECORD.write_text(text)
        DOCUMENT.write_text(table.replaced(DOCUMENT.read_text("utf-8"), record), "utf-8")
        return 0
    (WORK / "ns3.json").write_text(text)
    differences = table.changed(record, json.loads(RECORD.read_text()))
    for line in differences:
        print(f"error: {line}", file=sys.stderr)
    return 1 if differences else 0


if __name__ == "__main__":
    sys.exit(main())
