"""An explanation has the same parts everywhere, and finds any flow of any run."""

from __future__ import annotations

import html
import json
import re
import zlib
from pathlib import Path

import pyarrow.compute as pc
import pytest

import unpause
from unpause.commands import explain
from unpause.data.result import Result, Run
from unpause.errors import ResultError
from unpause.explanation import chosen, explained, flow_lines
from unpause.pages import explored
from unpause.pages.explored import Detail

#: A burst with headroom that is too small, a flow that cannot end, and a job beside them.
MANY = """
duration = "2ms"
[topology]
builder = "two-switch"
left = "H0..H4"
right = "H5..H9"
rate = "100Gbps"
bottleneck_rate = "400Gbps"
delay = "1us"
[pfc]
xoff = "60KB"
headroom = "10KB"
[probes]
causes = true
[[scheme]]
name = "PFC"
[[scheme]]
name = "DCQCN"
congestion_control = "dcqcn"
[[sweep]]
name = "burst"
key = "traffic.burst.size"
values = [100, 200]
unit = "KB"
[[job]]
name = "ring"
ranks = ["H0", "H1"]
iterations = 2
size = "400KB"
collective = "all-reduce"
[[traffic]]
name = "burst"
kind = "burst"
from = ["H2", "H3", "H4", "H7", "H8"]
to = "H9"
size = "100KB"
start = "5us"
[[traffic]]
name = "long"
kind = "flow"
from = "H2"
to = "H9"
size = "90MB"
"""


@pytest.fixture(scope="module")
def result() -> Result:
    return unpause.run(MANY, seed=4, seeds=2, progress=False)


def _flat(text: str) -> str:
    return " ".join(text.split())


def _of_terminal(result: Result, run: Run) -> str:
    return _flat("\n".join(explain.lines(result, [run], 100, None)))


def _of_notebook(result: Result, run: Run) -> dict[str, tuple[str, list[str]]]:
    """By part its title and texts."""
    page = explained.html(result, [run])
    found = {}
    for name, body in re.findall(r'<section data-part="(\w+)">(.*?)</section>', page, re.S):
        title = re.search(r"<h5>(.*?)</h5>", body)
        texts = re.findall(r"<(?:p|pre)>(.*?)</(?:p|pre)>", body, re.S)
        found[name] = title[1] if title else "", [html.unescape(it) for it in texts]
    return found


def _of_page(run: Run) -> list[dict[str, object]]:
    """The parts in what a page gets of a run."""
    frame = zlib.decompress(explored.frame(run, Detail(100, 1000), []))
    length = int.from_bytes(frame[:4], "little")
    return json.loads(frame[4 : 4 + length])["parts"]


def test_terminal_notebook_and_page_have_the_same_parts(result: Result) -> None:
    seen = set()
    for scheme in result.schemes:
        for run in result.runs_of(scheme):
            parts = explained.of_run(result, run)
            seen |= {it.name for it in parts}
            notebook, terminal = _of_notebook(result, run), _of_terminal(result, run)
            page = _of_page(run)
            names = [it.name for it in parts]
            assert list(notebook) == [it["name"] for it in page] == names
            at = -1
            for part, on_page in zip(parts, page, strict=True):
                assert notebook[part.name] == (part.title, list(part.texts))
                shown = [] if part.name == "trees" else list(part.texts)
                assert (on_page["title"], on_page["texts"]) == (part.title, shown)
                for text in part.texts:
                    found = terminal.find(_flat(text), at + 1)
                    assert found > at, (part.name, text)
                    at = found
    assert seen == set(explained.PARTS)


def test_every_flow_of_every_run_is_found(result: Result) -> None:
    for scheme in result.schemes:
        for run in result.runs_of(scheme):
            point = [chosen.run_name(run).split("(")[1].split(",")[0]]
            where = scheme, run.row["seed"], point
            flows = run.table("flows").to_pylist()
            for flow in flows:
                [own] = chosen.with_flow(result, str(flow["flow_id"]), *where)
                assert own.run == run.run
                said = list(flow_lines.sentences(own, str(flow["flow_id"]), None))
                assert flow["traffic"] in " ".join(said), said
            for name in ("burst", "long", "ring"):
                assert chosen.with_flow(result, name, *where)[0].run == run.run
            long = " ".join(flow_lines.sentences(run, "long", None))
            assert "did not finish" in long
            for message in run.table("messages").to_pylist()[::7]:
                name = f"{message['flow_id']}:{message['number']}"
                [own] = chosen.with_flow(result, name, *where)
                said = " ".join(flow_lines.sentences(own, name, None))
                assert f"message {name} of ring" in said


def test_a_message_has_the_parts_of_its_row(result: Result) -> None:
    run = result.runs_of("PFC")[0]
    delays = run.table("delays")
    delays = delays.filter(pc.is_valid(delays.column("message"))).to_pylist()
    worst = max(delays, key=lambda row: row["delay_ns"])
    said = " ".join(flow_lines.sentences(run, f"{worst['flow_id']}:{worst['message']}", None))
    assert re.search(r"took [\d.]+ us, and [\d.]+ us alone\. The other [\d.]+ .s: \d+ % ", said)
    of_job = " ".join(flow_lines.sentences(run, "ring", None))
    assert f"ring, all {len(delays)} messages that arrived: " in of_job
    assert "Most delayed: message " in of_job


@pytest.mark.parametrize(
    ("flow", "how", "says"),
    [
        ("brust", {}, "no flow 'brust'; did you mean 'burst'?"),
        ("99", {}, "no flow '99' in 8 runs: flows are 0 to "),
        (
            "99",
            {"scheme": "PFC", "seed": 4, "point": "burst=100"},
            "in PFC (burst=100, seed 4): flows are 0 to ",
        ),
        ("0:999", {"seed": 4}, "no message '0:999' in "),
        ("burst", {"scheme": "DCQNC"}, "no scheme 'DCQNC'; did you mean 'DCQCN'?"),
        ("burst", {"seed": 7}, "no run has seed 7; there are 4, 5"),
        ("burst", {"point": "brust=1KB"}, "nothing swept is called 'brust'; did you mean 'burst'?"),
        ("burst", {"point": "burst=300"}, "no run has burst = 300"),
        ("burst", {"point": "burst"}, "is not KEY=VALUE"),
    ],
)
def test_a_question_without_an_answer_names_what_there_is(
    result: unpause.Result, flow: str, how: dict[str, object], says: str
) -> None:
    with pytest.raises(ResultError) as error:
        result.explain(flow, **how)
    assert says in str(error.value), error.value


def test_a_flow_of_other_runs_only_is_named_with_these() -> None:
    text = MANY + '[[traffic]]\nname = "late"\nkind = "flow"\nfrom = "H3"\nto = "H4"\n'
    text += 'size = "1KB"\nschemes = ["DCQCN"]\n'
    result = unpause.run(text, seed=4, seeds=2, progress=False)
    assert [run.scheme for run in chosen.with_flow(result, "late")] == ["DCQCN"]
    with pytest.raises(ResultError, match=r"there is one in DCQCN \(burst=100, seed 4\), "):
        result.explain("late", scheme="PFC")


def test_the_command_finds_a_run_by_its_swept_value(
    result: Result, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result.write(tmp_path / "many")
    wanted = ["--seed", "5", "--point", "burst=200", "--scheme", "DCQCN"]
    assert explain.main([str(tmp_path / "many"), "--flow", "long", *wanted]) == 0
    said = _flat(capsys.readouterr().out)
    assert re.match(r"DCQCN \(burst=200, seed 5\): long \(H2 -> H9\) did not finish", said)
    assert explain.main([str(tmp_path / "many"), "--flow", "lnog", *wanted]) == 1
    assert "did you mean 'long'?" in capsys.readouterr().err


def test_a_notebook_shows_the_parts_of_each_scheme(result: unpause.Result) -> None:
    shown = result.explain(seed=5)._repr_html_()
    assert shown.count("<h4>") == len(result.schemes)
    assert "Could help: " in shown
    one = result.explain("long", scheme="PFC")
    assert "did not finish" in str(one)
    assert html.unescape(one._repr_html_()).count("did not finish") == 1
