"""A project with a folder to work in, a model, an MCP server, and a small coding agent."""

import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.gateway.models.model_server import ModelServer, Thought, serve_models
from tests.walks.conftest import Walk

HERE = Path(__file__).parent
MCP_SERVER = HERE.parents[1] / "suite" / "tool_sources" / "tiny_server.py"
KEY = "sk-walk-0123456789abcdefghij"
LOCAL = ("--sandbox", "local")
COMMAND = ("--", "python3", "coder.py")


def mend(results: list[str]) -> Thought:
    """Asks the MCP server, writes a file and a note, then answers."""
    if not results:
        return Thought("I look.", (("notes", {}), ("note_add", {"text": "mended"})))
    if len(results) == 2:
        return Thought("I write.", (("write", {"path": "cart.py", "text": "def total(x): return sum(x)\n"}),))
    return Thought(f"Mended; {results[1]}.")


@dataclass(frozen=True)
class Desk:
    """The project and what is real."""

    walk: Walk
    models: ModelServer

    @property
    def project(self) -> Path:
        return self.walk.folder

    @property
    def env(self) -> dict[str, str]:
        """What an SDK would read."""
        return {"OPENAI_BASE_URL": self.models.url, "OPENAI_API_KEY": KEY}

    def record(
        self, name: str, *words: str, status: int = 0, env: dict[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        tools = ("--mcp", "notes=python3 notes_server.py", "--allow-writes")
        return self.walk("record", name, *tools, *words, status=status, env=self.env if env is None else env)

    def left(self) -> list[str]:
        """All that is in the project, besides what the test put there and what the harness may keep."""
        found = [path.relative_to(self.project).as_posix() for path in self.project.rglob("*")]
        kept = ("coder.py", "cart.py", "notes_server.py", ".harness", ".cache", "images/map")
        return sorted(path for path in found if not path.startswith(kept) and path != "images") + sorted(
            path for path in found if path.startswith(".harness/.")
        )


@pytest.fixture
def desk(walk: Walk) -> Iterator[Desk]:
    with serve_models() as server:
        server.think = mend
        desk = Desk(walk, server)
        shutil.copyfile(HERE / "coder.py", desk.project / "coder.py")
        (desk.project / "cart.py").write_text("def total(x): return 0\n")
        shutil.copyfile(MCP_SERVER, desk.project / "notes_server.py")
        yield desk


@pytest.fixture
def walk(tmp_path: Path) -> Walk:
    """An empty project."""
    return Walk(tmp_path)
