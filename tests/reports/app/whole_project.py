"""A project with something on every page: runs, suites, labels, production, themes."""

import shutil
from pathlib import Path

import yaml

from harness.cassettes.check import cassette_paths, shown_cassette
from harness.production.storage import StoreLayout
from harness.runs.store.folder import RunFolder
from harness.traces.trajectory import Observation, Step, ToolCall, Trajectory
from harness.traces.trial import Trial
from tests.judging.labelling import RUBRIC
from tests.production.receiving import request, serving, span
from tests.production.shapes import genai
from tests.production.themes.conftest import Shop
from tests.reports.html.runs import HOSTILE, card, judge, manifest, mocked_and_live, store

ROOT = Path(__file__).parents[3]
SUITES = ("s", "another", "hostile")


def fill(folder: Path) -> Path:
    """Two runs of one suite, one of another, and one with texts of somebody who wishes the reader ill."""
    runs = folder / "runs"
    judge(store(runs, "after", trials=6))
    store(runs, "before", trials=6, failing=(0, 1, 2), agent="v0", created="2026-01-30T12:00:00Z")
    store(runs, "other", trials=3, suite="another", suite_digest="d2")
    store(runs, "hostile", trials=2, said=HOSTILE, result={HOSTILE: [HOSTILE]}, suite="hostile")
    mocked_and_live(runs)
    for name in SUITES:
        _suite(folder, name)
    _recorded(folder)
    _production(folder)
    return folder


def _suite(folder: Path, name: str) -> None:
    place = folder / "suites" / name
    (place / "rubrics").mkdir(parents=True)
    suite = {
        "name": name,
        "agents": {"v1": {"command": ["true"], "files": "."}},
        "cases": "cases.yaml",
    }
    (place / "suite.yaml").write_text(yaml.safe_dump(suite))
    cases = [{"id": f"case-{number:04d}", "task": "An egg, please."} for number in range(6)]
    (place / "cases.yaml").write_text(yaml.safe_dump(cases))
    plain = RUBRIC.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    (place / "rubrics" / f"{RUBRIC.name}.yaml").write_text(yaml.safe_dump(plain))


def _recorded(folder: Path) -> None:
    """A run that replays recordings of a real suite, and lacks one."""
    shutil.copytree(ROOT / "cassettes" / "drive_thru", folder / "cassettes" / "drive_thru")
    path = cassette_paths(folder / "cassettes", "drive_thru")[0]
    one = next(one for one in shown_cassette(path).recordings if one.kind == "tool")
    assert isinstance(one.arguments, dict)
    call = ToolCall(id="c", name=one.tool, arguments=one.arguments)
    seen = Observation(call_id="c", content="x", replayed="exact")
    steps = (Step(index=0, source="agent", calls=(call,), observations=(seen,)),)
    nearest = [{"tool": one.tool, "arguments": one.arguments, "difference": HOSTILE}]
    own = Trial(
        case_id=path.stem,
        attempt=1,
        outcome="inconclusive",
        trajectory=Trajectory(trace_id="t", agent="s", steps=steps),
        misses=({"tool": one.tool, "arguments": {HOSTILE: 1}, "nearest": nearest},),
    )
    missed = card(path.stem, 1, success=True, said="x").model_copy(update={"outcome": "inconclusive", "success": None})
    _suite(folder, "drive_thru")
    told = manifest([(path.stem, 1)], "replay", suite="drive_thru", created="2026-01-01T12:00:00Z")
    with RunFolder.create(folder / "runs", told) as run:
        run.commit(own, (), missed)


def _production(folder: Path) -> None:
    """A session that can be opened, and scores of failed ones."""
    layout = StoreLayout(folder / "online")
    reply = {"role": "assistant", "content": f"I heard {HOSTILE.encode('utf-8', 'replace').decode()}"}
    facts = {**genai([{"role": "user", "content": "hello"}], reply), "gen_ai.conversation.id": "s1"}
    with serving(layout.folder) as served:
        assert 200 == served.post("/v1/traces", request(span(7, 1, attributes=facts))).status
    shop = Shop(folder)
    (row,) = shop.store.sessions()
    shop.score(reason="The shop is closed", session=row.key, received_ns=row.received_last_ns)
