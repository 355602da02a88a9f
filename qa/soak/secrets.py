"""Secrets: a value for each way in which one comes to the harness, echoed by everybody, found nowhere afterwards."""

import json
import os
import random
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path

from harness.sandbox.engine import connect
from qa.soak.canaries import CHANNELS, UNDECLARED, everything, found_in
from qa.soak.echoing import Echoing, echoing
from qa.soak.rows import Row
from qa.soak.telling import write_project
from tests.cli.starting import run_command

SANDBOXES = ("local", "docker", "docker-warm")
_OFTEN_S = 0.05


@dataclass
class Searched:
    """What was found of the canaries, and where the control was found, by the kind of place."""

    found: dict[str, list[str]] = field(default_factory=dict)
    control: set[str] = field(default_factory=set)
    looked: dict[str, int] = field(default_factory=dict)

    def look(self, kind: str, places: Iterator[tuple[str, bytes]]) -> None:
        listed = list(places)
        self.looked[kind] = self.looked.get(kind, 0) + len(listed)
        self.found.setdefault(kind, []).extend(found_in(iter(listed), CHANNELS))
        if any(UNDECLARED.encode() in content for _, content in listed):
            self.control.add(kind)


def rows(random: random.Random, scale: float) -> Iterator[Row]:
    sandboxes = SANDBOXES if scale >= 1 else SANDBOXES[:2] if scale >= 0.1 else SANDBOXES[:1]
    for sandbox in sandboxes:
        searched, unasked = told_everything(sandbox)
        for kind, found in searched.found.items():
            said = f"{len(CHANNELS)} canaries" if not found else "; ".join(found[:5])
            void = (kind in _CONTROLLED and kind not in searched.control) or bool(unasked)
            tries = searched.looked[kind]
            survived = tries - len({place.partition(" in ")[2] for place in found})
            yield Row(what=f"secrets, {sandbox}: {kind}", tries=tries, survived=survived, said=said, void=void)


_CONTROLLED = (
    "cassettes",
    "run folders",
    "what was printed",
    "issues",
    "transcripts and exports",
    "tool listings",
    "processes",
)
"""Where what nobody has called a secret must be seen: else the search is blind there."""
_THE_AGENTS_OWN = ("/root/work/", "/end_state.tar", "/.end_state.tar.", "/.harness-removed-")
"""The agent's files in the sandbox `local`, while it runs and while they are removed; and the files that it changed, in
a private folder, under the archive's temporary name and its own, before they are redacted and stored."""
_THE_CHECKS_OWN = (b"cat\0", b"sh\0-c\0cat ")
"""The command of the suite's check, in a sandbox, on files that the agent named as it liked."""


def told_everything(sandbox: str) -> tuple[Searched, set[str]]:
    """What is found after everything was done with the suite, and the channels over which nobody was asked."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="canaries-", ignore_cleanup_errors=True)))
        temporary = folder / "tmp"
        temporary.mkdir()
        url, server = stack.enter_context(echoing())
        project = folder / "project"
        write_project(project, url, CHANNELS)
        (project / "judge.yaml").write_text(f"model: small\nbase_url: {url}/judge\napi_key: JUDGE_KEY\n")
        searched = Searched()
        looking = stack.enter_context(_Looking(temporary))
        seen = stack.enter_context(
            subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()", UNDECLARED], stdin=subprocess.PIPE)
        )
        stack.callback(seen.communicate)
        searched.look("what was printed", _done(project, temporary, server, url, sandbox))
        looking.stop()
        for kind, seen in looking.seen.items():
            searched.look(kind, iter(seen))
        _look_at_files(searched, project)
        searched.look("temporary files left", everything(temporary))
        searched.look("images", _images())
    return searched, {"echo", "refuse", "host", "model", "judge", "repos", "collector"} - server.asked


def _look_at_files(searched: Searched, project: Path) -> None:
    kinds = {"cassettes": "cassettes", "run folders": "runs", "issues": "issues", "baselines": "baselines"}
    for kind, folder in {**kinds, "tool listings": "suites/s/tools", "transcripts and exports": "out"}.items():
        searched.look(kind, everything(project / folder))
    searched.look("the whole project", everything(project))


def _done(project: Path, temporary: Path, server: Echoing, url: str, sandbox: str) -> Iterator[tuple[str, bytes]]:
    """Every verb that stores or shows something, and what it printed. The exit status is the verb's own affair."""
    env = {**CHANNELS, "TMPDIR": str(temporary)}
    env["OTEL_EXPORTER_OTLP_HEADERS"] = f"x-collector-key={CHANNELS['COLLECTOR_KEY']}"
    del env["GITHUB_TOKEN"]  # it chooses the tracker
    run = ["run", "s", "--sandbox", sandbox]
    live = ["--live", "all"]
    github = {
        "GITHUB_TOKEN": CHANNELS["GITHUB_TOKEN"],
        "GITHUB_REPOSITORY": "acme/x",
        "GITHUB_API_URL": url,
    }
    probe = ["drift", "probe", "s", "--sandbox", sandbox, "--no-learn", "--run-name"]
    (project / "out").mkdir()
    for words, more in (
        (["tool", "refresh", "s"], {}),
        ([*run, "--live", "all,record", "--run-name", "record", "--otlp", f"{url}/collector"], {}),
        (["--debug", *run, *live, "--run-name", "live"], {}),
        ([*run, "--run-name", "replay"], {}),
        (["cassette", "check", "s"], {}),
        (["cassette", "show", "s", "c"], {}),
        (["baseline", "record"], {}),
        *((["report", "live", form], {}) for form in ("--all", "--format=markdown", "--json", "--format=junit")),
        (["report", "live", "--html", "--against", "record", "-o", "out/page.html"], {}),
        (["explain", "live", "c"], {}),
        (["explain", "live", "c", "--transcript", "everything"], {}),
        (["compare", "replay", "live"], {}),
        *((["export", "live", "--format", form, "-o", f"out/{form}"], {}) for form in ("atif", "otlp")),
        (["judge", "run", "live", "--rubric", "tool_agent"], {}),
        ([*probe, "drifted", "--file"], {"changed": "1"}),
        (["issue", "file", "drifted", "--tracker", "github"], github),
        (["run", "no-such-suite", "--live", "tools"], {}),
    ):
        server.changed = more.pop("changed", "") == "1"
        done = run_command(*words, folder=project, env={**env, **more})
        yield " ".join(words), (done.stdout + done.stderr).encode("utf-8", "surrogateescape")


class _Looking(threading.Thread):
    """Looks, again and again while the commands run, at what others on the machine could see."""

    def __init__(self, temporary: Path) -> None:
        super().__init__(daemon=True)
        self.seen: dict[str, set[tuple[str, bytes]]] = {
            kind: set() for kind in ("containers", "processes", "temporary files")
        }
        self._temporary = temporary
        self._enough = threading.Event()
        self._looked_on = False

    def __enter__(self) -> "_Looking":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Raises RuntimeError where looking ended before: nothing was seen from then on."""
        self._enough.set()
        self.join()
        if not self._looked_on:
            raise RuntimeError("nobody looked any more at what others could see")

    def run(self) -> None:
        with closing(connect()) as client:
            while not self._enough.wait(_OFTEN_S):
                self.seen["processes"].update(_processes())
                self.seen["temporary files"].update(_readable(self._temporary))
                for container in client.containers.list(ignore_removed=True, filters={"label": "harness.owner"}):
                    self.seen["containers"].add((container.id, json.dumps(container.attrs).encode()))
        self._looked_on = True


def _processes() -> Iterator[tuple[str, bytes]]:
    """Command lines of all, and the environments of those that were not given a key to do their work with."""
    for place in Path("/proc").iterdir():
        if not place.name.isdigit():
            continue
        try:
            command = (place / "cmdline").read_bytes()
            if command.startswith(_THE_CHECKS_OWN):
                continue
            yield f"command line of {command[:60]!r}", command
            environment = (place / "environ").read_bytes()
            # in the midst of exec the command line is empty, and the environment is the next program's already
            if not any(b"program.py" in told for told in (command, (place / "cmdline").read_bytes())):
                yield f"environment of {command[:60]!r}", environment
        except OSError:
            continue


def _readable(folder: Path) -> Iterator[tuple[str, bytes]]:
    """What is in the folder just now; what is removed meanwhile was seen before or is seen next time."""
    for path in [Path(at) / name for at, _, names in os.walk(folder) for name in names]:
        try:
            if path.is_file() and not any(own in str(path) for own in _THE_AGENTS_OWN):
                yield str(path), path.read_bytes()
        except OSError:
            continue


def _images() -> Iterator[tuple[str, bytes]]:
    listed = subprocess.run(["docker", "images", "-q"], capture_output=True, text=True, check=True, env=os.environ)
    for image in sorted(set(listed.stdout.split())):
        for command in (["docker", "history", "--no-trunc", image], ["docker", "image", "inspect", image]):
            yield f"{command[1]} of {image}", subprocess.run(command, capture_output=True, check=False).stdout
