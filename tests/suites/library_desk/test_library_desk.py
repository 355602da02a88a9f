"""A suite on PostgreSQL: the same verdicts from the cassette and from the database, every row accounted for."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from harness.runs.store.folder import RunFolder
from harness.sandbox.environment import load_environment
from harness.sandbox.images.store import ImageStore
from harness.sandbox.services import start_services
from harness.sandbox.snapshots import SnapshotStore
from harness.sandbox.tables import changes
from harness.suite.loading import load_suite
from tests.cli.starting import LIVE
from tests.sandbox.snapshots.copying import copy_snapshot
from tests.walks.conftest import ROOT, Walk


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Walk:
    """A copy of what the suite needs of this repository's own project."""
    folder = tmp_path_factory.mktemp("library")
    for name in ("images/postgres", "images/library_desk", "snapshots/library_desk", "suites/library_desk"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copytree(ROOT / "cassettes" / "library_desk", folder / "cassettes" / "library_desk")
    return Walk(folder)


def test_the_cassettes_hold_what_the_database_held(library: Walk) -> None:
    library("run", "library_desk", "--sandbox", "local", "--run-name", "careful")
    library("run", "library_desk", "--sandbox", "local", "--agent", "hasty", "--run-name", "hasty")
    said = library("explain", "hasty", "lend").stdout

    assert [True] * 4 == [json.loads(card)["success"] for card in library.scorecards("careful").values()]
    assert [True, True, True, False] == [json.loads(card)["success"] for card in library.scorecards("hasty").values()]
    assert "table 'hold': " in said
    assert " was added" in said


@pytest.mark.parametrize(
    ("careful", "changed", "case", "rule", "step"),
    [
        ("query=title", "query=title.split()[0]", "lend", "find_books(query) in ", 2),  # no recording answers it
        ('    call("return_book", loan_id=loan["id"])\n', "", "give-back", "require return_book", 2),
        ('if member.get("blocked")', "if False", "blocked", "only get_member", 2),
    ],
    ids=["another search", "a write less", "a check less"],
)
def test_a_change_that_a_replay_cannot_measure_is_seen_by_the_rules(
    tmp_path: Path, careful: str, changed: str, case: str, rule: str, step: int
) -> None:
    for name in ("images/postgres", "images/library_desk", "snapshots/library_desk", "suites/library_desk"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "cassettes" / "library_desk", tmp_path / "cassettes" / "library_desk")
    agent = tmp_path / "suites/library_desk/agents/careful/agent.py"
    assert careful in agent.read_text()
    agent.write_text(agent.read_text().replace(careful, changed))

    walk = Walk(tmp_path)
    walk("run", "library_desk", "--case", case, "--sandbox", "local", "--run-name", "changed", status=1)

    (card,) = RunFolder.open(tmp_path / "runs/changed").scorecards()
    broken = {one.rule: one.step for one in card.rules if one.state == "broken"}
    assert card.success is None
    assert any(text.startswith(rule) and at == step for text, at in broken.items()), broken


@pytest.mark.docker
@pytest.mark.slow
def test_sealed_and_replayed_give_the_same_scorecards_and_the_cases_are_right(library: Walk) -> None:
    for mode in ("sealed", "replay"):
        library("run", "library_desk", "--live", LIVE[mode], "--run-name", f"same-{mode}", "--jobs", "2")

    assert library.scorecards("same-sealed") == library.scorecards("same-replay")
    assert "4 cases checked, 0 wrong" in library("case", "check", "library_desk", "--jobs", "2").stderr


@pytest.mark.docker
@pytest.mark.slow
def test_the_state_is_sealed_by_content_restored_and_compared(library: Walk, project: Path) -> None:
    images = ImageStore(project)
    snapshots = SnapshotStore(library.folder, ImageStore(library.folder))
    sealed = snapshots.verify("library_desk", "monday").digest
    environment = load_environment(project, "library_desk")
    for service in environment.services:
        images.build(environment.image_of(service))
    snapshot = SnapshotStore(project, images).load("library_desk", "monday")
    write = "insert into loan (book_id, member_id, lent_on, due_on) values (2, 1, '2026-03-02', '2026-03-16')"
    with start_services(environment, snapshot, images=images, run="test-library", names=["database"]) as services:
        before = services.tables("database", [], 60)
        services.output_of("database", ["psql", "-d", "library", "-c", write], 60)
        told = changes(before, services.tables("database", [], 60), {})
        counted = services.rows("database", "select count(*) as loans from loan;", 60)

    assert ["book", "hold", "loan", "member", "today"] == list(before)
    assert [{"loans": 4}] == counted
    assert [{"id": 4, "book_id": 2, "member_id": 1, "lent_on": "2026-03-02", "due_on": "2026-03-16"}] == told["loan"][
        "added"
    ]
    assert {"rows", "digest"} == set(told["book"])
    assert sealed == snapshots.build("library_desk", "monday").digest


DIES = """
import json, os, sys, urllib.request
URL = os.environ["HARNESS_GATEWAY_URL"]
for path in ("/tools/find_books", "/tools/get_member"):
    body = {"query": "crash"} if path.endswith("books") else {"member_id": 1}
    try:
        urllib.request.urlopen(urllib.request.Request(URL + path, json.dumps(body).encode())).read()
    except OSError:
        pass
sys.exit(1)
"""


CRASHING = """
source = open("/srv/desk.py").read()
line = "    def books(self, asked: dict) -> object:\\n"
assert line in source
crash = "        if asked.get('query') == 'crash':\\n            print('out of paper', flush=True); os._exit(3)\\n"
exec(compile(source.replace(line, line + crash), "desk", "exec"))
"""
CRASHES = json.dumps(["python3", "-u", "-c", CRASHING])


@pytest.mark.docker
@pytest.mark.slow
def test_a_service_that_dies_in_mid_run_is_no_failure_of_the_agent(library: Walk, tmp_path: Path) -> None:
    walk = Walk(tmp_path / "project")
    shutil.copytree(library.folder, walk.folder, ignore=shutil.ignore_patterns("runs", ".harness"))
    environment = walk.folder / "images" / "library_desk" / "environment.yaml"
    environment.write_text(
        environment.read_text().replace("    image: desk\n", f"    image: desk\n    command: {CRASHES}\n")
    )
    (walk.folder / "suites" / "library_desk" / "agents" / "careful" / "agent.py").write_text(DIES)
    walk("run", "library_desk", "--case", "lend", "--live", "sealed", "--run-name", "dead", status=3)
    trial, said = walk.trial("dead", "lend"), walk("explain", "dead", "lend").stdout

    assert "harness_failed" == trial["outcome"]
    assert "service 'desk'" in trial["reason"]
    assert "out of paper" in trial["service_logs"]["desk"]
    assert "service desk:" in said
    assert not (walk.folder / "runs/dead/trials/lend/1.failed-1").exists()  # an agent may bring a service down
    left = subprocess.run(["docker", "ps", "-aq", "--filter", "label=harness.run=dead"], capture_output=True, text=True)
    assert "" == left.stdout


@pytest.mark.slow
@pytest.mark.docker
def test_services_of_a_case_with_a_snapshot_of_its_own_start_from_that_one(library: Walk, tmp_path: Path) -> None:
    walk = Walk(tmp_path / "project")
    shutil.copytree(library.folder, walk.folder, ignore=shutil.ignore_patterns("runs", ".harness"))
    suite = load_suite(walk.folder, "library_desk")
    store = SnapshotStore(walk.folder)
    whole = store.verify("library_desk", suite.snapshot or "")
    copy_snapshot(walk.folder / "snapshots" / "library_desk" / whole.name, "no-ada", {"database": ("1\tAda\tf\n", "")})
    cases = walk.folder / "suites" / "library_desk" / "cases.yaml"
    lend = cases.read_text().partition("- id: lend\n")[2].partition("\n- id: ")[0]
    cases.write_text(f"{cases.read_text()}\n- id: lend-no-ada\n  snapshot: no-ada\n{lend}\n")
    chosen = ("--case", "lend", "--case", "lend-no-ada")
    walk("run", "library_desk", *chosen, "--live", "sealed", "--sandbox", "docker", "--run-name", "own")
    # the service of the second case alone knows no member 1
    assert ["finished", "agent_failed"] == [walk.trial("own", one)["outcome"] for one in ("lend", "lend-no-ada")]
    manifest = RunFolder.open(walk.folder / "runs" / "own").manifest
    assert whole.digest != manifest.snapshot_digest
