"""The blocks of code of README and documentation, run and read as a reader would."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from harness.judging.rubrics import read_rubric
from harness.production.settings import online_settings
from harness.sandbox.environment import load_environment
from harness.suite.documents import read_document
from harness.suite.loading import load_suite
from harness.suite.models import PriceList
from tests.docs.blocks import BLOCKS, CHAINS, PAGES, ROOT, Block, blocks_of, name_of, runs, script_of
from tests.serving import Answering, listening

QUICK = ("README.md",)
"""Pages whose commands `make test` runs; `make test-full` runs those of all others."""
LANGUAGES = {"sh", "text", "yaml", "python", "json", "toml", "dockerfile"}
PROJECT = ("suites", "images", "snapshots", "cassettes", "baselines", "prompts")
MAKES = sorted(
    {line for block in BLOCKS if block.language == "sh" for line in block.text.splitlines() if line.startswith("make ")}
)


def named(blocks: list[Block]) -> list[object]:
    return [pytest.param(block, id=block.name) for block in blocks]


def test_every_block_says_what_it_is() -> None:
    assert [] == [block.name for block in BLOCKS if block.language not in LANGUAGES]
    typed = [block for block in BLOCKS if block.language == "sh" and not block.is_file]
    assert [] == [block.name for block in typed if "||" in block.text]  # `# exit N` says it
    for page in PAGES:
        assert page.read_text(encoding="utf-8").count("```") == 2 * len(blocks_of(page)), page


def test_no_page_shows_the_backslash_of_an_escaped_bar() -> None:
    """In code inside of a table Python-Markdown keeps it, and GitHub ends the cell without it."""
    escaped = re.compile(r"^\|.*`[^`|]*\\\|[^`]*`", re.MULTILINE)
    assert [] == [page for page in PAGES if escaped.search(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("line", MAKES)
def test_every_make_target_exists(line: str) -> None:
    dry = subprocess.run(
        ["make", "--dry-run", *shlex.split(line, comments=True)[1:]], cwd=ROOT, capture_output=True, text=True
    )
    assert (0, "") == (dry.returncode, dry.stderr)


@pytest.mark.parametrize("block", named([one for one in BLOCKS if one.language == "python"]))
def test_every_program_compiles(block: Block) -> None:
    compile(block.text, block.name, "exec")


def _prices(folder: Path, block: str) -> None:
    (folder / "prices.yaml").write_text(block, encoding="utf-8")
    assert read_document(folder / "prices.yaml", PriceList).models


def _rubric(folder: Path, block: str) -> None:
    (folder / "rubric.yaml").write_text(block, encoding="utf-8")
    assert read_rubric(folder / "rubric.yaml").criteria


def _environment(folder: Path, block: str) -> None:
    place = folder / "images" / "e"
    place.mkdir(parents=True)
    (place / "environment.yaml").write_text(block, encoding="utf-8")
    assert load_environment(folder, "e")


def _cases(folder: Path, block: str) -> None:
    _suite(folder, "{}", block)


def _fixtures(folder: Path, block: str) -> None:
    place = folder / "suites" / "s" / "fixtures"
    place.mkdir(parents=True)
    (place / "pack.yaml").write_text(block, encoding="utf-8")
    tools = [{"name": name, "server": "x", "http": {"path": "/"}} for name in yaml.safe_load(block)]
    suite = {"servers": {"x": {"base_url": "http://127.0.0.1:1"}}, "tools": tools}
    _suite(folder, yaml.safe_dump(suite), "- {id: a, task: t, fixtures: [pack]}\n")


def _online(folder: Path, block: str) -> None:
    (folder / "online.yaml").write_text(block, encoding="utf-8")
    assert online_settings(folder).clickhouse is not None


def _suite(folder: Path, block: str, cases: str = "- {id: a, task: t}\n") -> None:
    place = folder / "suites" / "s"
    said = yaml.safe_load(block) or {}
    for name in {agent["files"] for agent in said.get("agents", {}).values()} or {"agents/v1"}:
        (place / name).mkdir(parents=True)
    agents = "" if "agents" in said else "agents: {v1: {command: [x], files: agents/v1}}\n"
    (place / "suite.yaml").write_text(agents + ("" if block == "{}" else block), encoding="utf-8")
    (place / "cases.yaml").write_text(cases, encoding="utf-8")
    assert load_suite(folder, "s").cases


READERS: dict[str, Callable[[Path, str], None]] = {
    "": _suite,
    "online.yaml": _online,
    "suite.yaml": _suite,
    "cases.yaml": _cases,
    "environment.yaml": _environment,
    "prices.yaml": _prices,
    "rubric.yaml": _rubric,
    "fixtures.yaml": _fixtures,
}


@pytest.mark.parametrize("block", named([one for one in BLOCKS if one.language == "yaml" and not one.is_file]))
def test_every_yaml_block_is_read_by_its_reader(tmp_path: Path, block: Block) -> None:
    READERS[block.title](tmp_path, block.text)


@pytest.mark.docker
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    "pages",
    [
        pytest.param(chain, id=name_of(chain[0]), marks=[] if name_of(chain[0]) in QUICK else [pytest.mark.slow])
        for chain in CHAINS
        if any(runs(page) for page in chain)
    ],
)
def test_the_commands_of_a_page_work_in_their_order(tmp_path: Path, pages: list[Path]) -> None:
    """As typed into one shell, in a project that is a copy of this one; files are written where they are shown.

    README is typed in an empty folder, beside the service that it speaks of.
    """
    project = tmp_path / "project"
    project.mkdir()
    for folder in () if pages[0] == ROOT / "README.md" else PROJECT:
        shutil.copytree(ROOT / folder, project / folder)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, "PATH": path, "PYTHONPATH": str(project)}
    with serving({"/rooms": ["blue"], "/bookings": {"state": "booked"}}) as port:
        script = "\n".join(["set -euo pipefail", *(line for page in pages for line in script_of(page))])
        typed = ["bash", "-c", script.replace("http://127.0.0.1:8000", f"http://127.0.0.1:{port}")]
        done = subprocess.run(typed, cwd=project, env=env, capture_output=True, text=True)
    at = done.stdout.rpartition("### ")[2].partition("\n")[0]
    assert 0 == done.returncode, f"{at}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"


@contextmanager
def serving(answers: dict[str, Any]) -> Iterator[int]:
    """The port of a service on this machine that answers each path with its JSON."""

    class Handler(Answering):
        def do_GET(self) -> None:
            self.sent()
            self.give(200, answers[self.path.partition("?")[0]])

        do_POST = do_GET

    with listening(Handler) as address:
        yield int(address.rpartition(":")[2])
