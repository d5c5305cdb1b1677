"""The JSON Schema of scenario files, with a validator of others."""

import copy
import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from unpause.running import read

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs/scenario.schema.json").read_text("utf-8"))
SCENARIOS = sorted([*ROOT.glob("papers/*/scenarios/*.toml"), *ROOT.glob("scenarios/**/*.toml")])


def _errors(scenario: dict[str, Any]) -> list[str]:
    return [error.json_path for error in Draft7Validator(SCHEMA).iter_errors(scenario)]


def test_it_is_a_schema_and_every_shipped_scenario_keeps_to_it() -> None:
    Draft7Validator.check_schema(SCHEMA)
    assert len(SCENARIOS) > 50
    wrong = {}
    for file in SCENARIOS:
        # The file as it is written, and merged with its base.
        for text in {file.read_text("utf-8"), read(file).source}:
            if errors := _errors(tomllib.loads(text)):
                wrong[file.relative_to(ROOT)] = errors
    assert wrong == {}


GOOD = {
    "duration": "5ms",
    "topology": {"builder": "single-switch", "hosts": 9, "rate": "1Gbps", "delay": "1us"},
    "switch": {"pipeline": {}},
    "pfc": {},
    "scheme": [{"name": "PFC"}, {"name": "D", "congestion_control": "dcqcn", "dcqcn": {}}],
    "traffic": [{"name": "t", "kind": "burst", "from": "H1..H8", "to": "H0", "size": "1MB"}],
    "probes": {"interval": "20us"},
    "sweep": [{"name": "x", "key": "pfc.xoff", "values": [1]}],
}


@pytest.mark.parametrize(
    ("path", "value", "place"),
    [
        ("duration", "5", "$.duration"),
        ("duration", "5 Gbps", "$.duration"),
        ("durations", "5ms", "$"),
        ("seed", "one", "$.seed"),
        ("pfc.xof", "1KB", "$.pfc"),
        ("switch.queueing", "lifo", "$.switch.queueing"),
        ("switch.pipeline.flow_control", "none", "$.switch.pipeline.flow_control"),
        ("topology.builder", "ring", "$.topology"),
        ("topology.host", 9, "$.topology"),
        ("topology.hosts", "9", "$.topology"),
        ("topology.rate", "1us", "$.topology"),
        ("topology.link", [], "$.topology"),
        ("topology.builder", "dumbbell", "$.topology"),
        ("scheme.1.congestion_control", "dcqcm", "$.scheme[1].congestion_control"),
        ("scheme.1.dcqcn.g", True, "$.scheme[1].dcqcn.g"),
        ("scheme.1.dcqcn.gg", 1, "$.scheme[1].dcqcn"),
        ("traffic.0.kind", "bursts", "$.traffic[0]"),
        ("traffic.0.interval_", "1us", "$.traffic[0]"),
        ("traffic.0.size", 64, "$.traffic[0]"),
        ("traffic.0.on", "1us", "$.traffic[0]"),
        ("traffic.0.kind", "on-off", "$.traffic[0]"),
        ("probes.ports", "S0->H0", "$.probes.ports"),
        ("sweep.0.values", 3, "$.sweep[0].values"),
    ],
)
def test_mistakes_are_found(path: str, value: Any, place: str) -> None:
    assert _errors(GOOD) == []
    bad: Any = copy.deepcopy(GOOD)
    entry, last = _entry(bad, path)
    entry[last] = value
    assert place in _errors(bad)


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("duration", "$"),
        ("topology.rate", "$.topology"),
        ("traffic.0.to", "$.traffic[0]"),
    ],
)
def test_missing_keys_are_found(path: str, place: str) -> None:
    bad: Any = copy.deepcopy(GOOD)
    entry, last = _entry(bad, path)
    del entry[last]
    assert place in _errors(bad)


def _entry(scenario: Any, path: str) -> tuple[Any, str]:
    *steps, last = path.split(".")
    for step in steps:
        scenario = scenario[int(step) if step.isdigit() else step]
    return scenario, last
