"""Whether a room's fast tests notice a mutant: those tests are run that run the changed line."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from coverage import CoverageData

from tests.mutation.planting import Mutant

_FAST = "not slow and not docker"
_WITHIN_S = 300
_BASELINE_WITHIN_S = 3600


class Workspace:
    """A copy of the repository, whose files are changed and put back."""

    def __init__(self, source: Path, folder: Path, tests: tuple[str, ...], room: str) -> None:
        self.root = folder / "repository"
        self._tests = tests
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=source, capture_output=True, text=True, check=True)
        for name in filter(None, listed.stdout.split("\0")):
            target = self.root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if (source / name).is_file():
                shutil.copy2(source / name, target)
        (self.root / "coverage.ini").write_text(
            f"[run]\nbranch = False\nsource = harness/{room}\ndynamic_context = test_function\n"
        )

    def measure(self) -> str | None:
        """Runs the room's tests as they are, keeping which test runs which line; the output where they fail."""
        words = ["-m", "coverage", "run", "--rcfile", "coverage.ini", "-m", "pytest", *self._pytest(self._tests)]
        done = self._python(words, _BASELINE_WITHIN_S)
        self._data = CoverageData(str(self.root / ".coverage"))
        self._data.read()
        return None if done.returncode == 0 else done.stdout[-4000:] + done.stderr[-1000:]

    def notices(self, mutant: Mutant) -> bool:
        """Whether a test fails, or does not end, with the mutant in place."""
        path = self.root / mutant.file
        original = path.read_text(encoding="utf-8")
        chosen = self._tests_of(mutant)
        if not chosen:
            return False
        path.write_text(mutant.code(original), encoding="utf-8")
        try:
            return self._python(["-m", "pytest", "-x", *self._pytest(chosen)], _WITHIN_S).returncode != 0
        except subprocess.TimeoutExpired:
            return True
        finally:
            path.write_text(original, encoding="utf-8")

    def _tests_of(self, mutant: Mutant) -> tuple[str, ...]:
        """The tests that run the line; all of the room's where it is run outside of any test; none where it is not."""
        lines = self._data.contexts_by_lineno(str(self.root / mutant.file))
        contexts = next((lines[line] for line in range(mutant.line, max(0, mutant.line - 12), -1) if line in lines), [])
        named = {context for context in contexts if context}
        if not named:
            return self._tests if contexts else ()
        return tuple(sorted(self._node(context) for context in named))

    def _node(self, context: str) -> str:
        module, _, test = context.rpartition(".")
        return f"{module.replace('.', '/')}.py::{test}"

    def _pytest(self, chosen: Iterable[str]) -> list[str]:
        return ["-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-m", _FAST, *chosen]

    def _python(self, words: list[str], within_s: float) -> subprocess.CompletedProcess[str]:
        env = {**os.environ, "PYTHONPATH": str(self.root), "PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.run(
            [sys.executable, *words], cwd=self.root, env=env, capture_output=True, text=True, timeout=within_s
        )
