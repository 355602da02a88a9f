"""Whether a room's fast tests notice a mutant: those tests are run that run the changed line."""

import ast
import os
import resource
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue

from coverage import CoverageData

from qa.mutation.planting import Mutant

_FAST = "not slow and not docker"
_AT_LEAST_CPU_S = 60
_ENDLESS_S = 3600
"""A test that only waits fails by its own timeout long before."""
_NOTHING_RAN = 5
_TIMES_BASELINE = 2
"""A mutant's tests are some of the room's: what computes longer than all of them so often does not end. Seconds of the
processor are counted, so that a busy machine does not make a slow mutant a noticed one."""
_MACHINE = "HARNESS_REAL_DATA"
"""What only some machines have: what is noticed with it would not be noticed elsewhere."""

_CONTEXTS = "mutation_contexts"
_CONTEXT_PLUGIN = """
import coverage
import pytest


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    running = coverage.Coverage.current()
    running.switch_context(item.nodeid.partition("[")[0])
    try:
        return (yield)
    finally:
        running.switch_context("")
"""
"""Names the test by pytest's own id: coverage takes functions of hypothesis that are called `test_...` for tests."""


class Workspace:
    """Copies of the repository, one a job, whose files are changed and put back."""

    def __init__(self, source: Path, folder: Path, tests: tuple[str, ...], room: str) -> None:
        self.root = folder / "repository"
        self._folder = folder
        self._tests = tests
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=source, capture_output=True, text=True, check=True)
        for name in filter(None, listed.stdout.split("\0")):
            target = self.root / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if (source / name).is_file():
                shutil.copy2(source / name, target)
        (self.root / "coverage.ini").write_text(f"[run]\nbranch = False\nsource = harness/{room}\n")
        (self.root / f"{_CONTEXTS}.py").write_text(_CONTEXT_PLUGIN)
        self._compile()

    def measure(self) -> str | None:
        """Runs the room's tests as they are, keeping which test runs which line; the output where they fail."""
        words = [
            "-m",
            "coverage",
            "run",
            "--rcfile",
            "coverage.ini",
            "-m",
            "pytest",
            "-p",
            _CONTEXTS,
            *self._pytest(self._tests),
        ]
        before = _cpu_s()
        done = self._python(words, self.root, writes_bytecode=True)
        self._cpu_s = max(_AT_LEAST_CPU_S, round(_TIMES_BASELINE * (_cpu_s() - before)))
        self._data = CoverageData(str(self.root / ".coverage"))
        self._data.read()
        self._breadth = self._lines_by_test()
        return None if done.returncode == 0 else done.stdout[-4000:] + done.stderr[-1000:]

    def noticed(self, mutants: Sequence[Mutant], jobs: int) -> Iterator[bool]:
        """For each mutant, whether a test notices it; `jobs` of them at a time, each in a copy of its own."""
        copies: SimpleQueue[Path] = SimpleQueue()
        copies.put(self.root)
        for number in range(1, jobs):
            copy = self._folder / f"repository-{number}"
            copies.put(copy if copy.exists() else shutil.copytree(self.root, copy))

        def tried(mutant: Mutant) -> bool:
            copy = copies.get()
            try:
                return self._notices(mutant, copy)
            finally:
                copies.put(copy)

        with ThreadPoolExecutor(jobs) as pool:
            yield from pool.map(tried, mutants)

    def _notices(self, mutant: Mutant, root: Path) -> bool:
        """Whether a test fails, or does not end, with the mutant in place."""
        path = root / mutant.file
        chosen = self._tests_of(mutant)
        if not chosen:
            return False
        original = path.read_text(encoding="utf-8")
        path.write_text(mutant.code(original), encoding="utf-8")
        try:
            done = self._python(["-m", "pytest", "-x", *self._pytest(chosen)], root, cpu_s=self._cpu_s)
        finally:
            path.write_text(original, encoding="utf-8")
        # A test that cannot be found would make pytest fail, and the mutant count as noticed.
        assert "not found: " not in done.stderr, done.stderr[-2000:]
        return done.returncode not in (0, _NOTHING_RAN)

    def _tests_of(self, mutant: Mutant) -> tuple[str, ...]:
        """The tests that run the statement, none where none does. Of one that runs while its module is imported: those
        that run the module, and then all others of the room."""
        lines = self._data.contexts_by_lineno(str(self.root / mutant.file))
        source = (self.root / mutant.file).read_text(encoding="utf-8")
        contexts = {one for line in _statement(source, mutant.line) for one in lines.get(line, ())}
        named = {context for context in contexts if context}
        if not named and contexts:
            of_module = {test for tests in lines.values() for test in tests}
            every = (test for test in self._breadth if test)
            return tuple(sorted(every, key=lambda test: (test not in of_module, self._breadth[test], test)))
        return tuple(sorted(named, key=lambda test: (self._breadth[test], test)))

    def _lines_by_test(self) -> Counter[str]:
        """Test -> how many of the room's lines it runs: tests that run few are quick, and come first."""
        return Counter(
            test
            for file in self._data.measured_files()
            for tests in self._data.contexts_by_lineno(file).values()
            for test in tests
        )

    def _pytest(self, chosen: Iterable[str]) -> list[str]:
        return ["-q", "-p", "no:cacheprovider", "-p", "no:randomly", "-m", _FAST, *chosen]

    def _compile(self) -> None:
        """Bytecode that is valid by a digest of its source, and so never for a mutant of the same size and second."""
        words = [sys.executable, "-m", "compileall", "-q", "--invalidation-mode", "checked-hash", "harness"]
        subprocess.run(words, cwd=self.root, check=True)

    def _python(
        self, words: list[str], root: Path, *, writes_bytecode: bool = False, cpu_s: int | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Only the first run writes bytecode, that of the tests: what stands in the files afterwards is a mutant's."""
        env = {name: value for name, value in os.environ.items() if name != _MACHINE}
        env["PYTHONPATH"] = str(root)
        if not writes_bytecode:
            env["PYTHONDONTWRITEBYTECODE"] = "1"
        limit = [] if cpu_s is None else ["prlimit", f"--cpu={cpu_s}"]
        command = [*limit, sys.executable, *words]
        return subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, timeout=_ENDLESS_S)


def _cpu_s() -> float:
    """Seconds of the processor of all programs that were run and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _statement(source: str, line: int) -> range:
    """The lines of the smallest statement that the line is part of; of one with a body, the lines before the body."""
    holding = [lines for node in ast.walk(ast.parse(source)) if line in (lines := _own_lines(node))]
    return max(holding, key=lambda lines: lines.start, default=range(line, line + 1))


def _own_lines(node: ast.AST) -> range:
    match node:
        case ast.Match():
            return range(node.lineno, node.cases[0].pattern.lineno)
        case ast.match_case():
            return range(node.pattern.lineno, node.body[0].lineno)
        case ast.stmt() | ast.excepthandler():
            body = getattr(node, "body", None)
            first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
            return range(first, max(body[0].lineno, first + 1) if body else (node.end_lineno or first) + 1)
        case _:
            return range(0)
