"""Chains of kills: a command is killed, cleaned up after, gone on with, killed again, and in the end left to finish."""

import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import docker

from harness.cassettes.cassette import load_cassette
from harness.sandbox.engine import connect
from qa.soak.killing.aim import moment_in
from qa.soak.killing.commands import Commands, Ended
from qa.soak.killing.project import SUITE_NAME, write_dockerfile, write_project
from qa.soak.killing.remains import remains
from tests.cli.starting import LIVE

RUN_PHASES = ("restore", "run", "score", "write", "teardown")
_LONGEST = 6


@dataclass(kw_only=True)
class Kill:
    """One kill and what was wrong afterwards; a chain that does not end as it should spoils all of its kills."""

    phase: str
    what: str
    lost: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


class Field:
    """The project, its commands, and what they do when nobody disturbs them."""

    def __init__(self, folder: Path, commands: Commands, client: docker.DockerClient, random: Random) -> None:
        self.folder = folder
        self.commands = commands
        self.project = commands.project
        self.random = random
        self._client = client
        self._runs = 0
        self._undisturbed: dict[tuple[str, str], tuple[Ended, dict[str, bytes]]] = {}
        commands.ok("tool", "refresh", SUITE_NAME)
        self.build = commands.ok("snapshot", "build", "yard", "shut")
        self.seal = (self.project / "snapshots/yard/shut/snapshot.json").read_bytes()
        commands.ok("record", SUITE_NAME, "--agent", "v0")
        self.old_cassettes = self.tapes()
        self.recorded = commands.ok("record", SUITE_NAME, "--agent", "v1")
        self.new_cassettes = self.tapes()
        assert self.old_cassettes != self.new_cassettes

    def tapes(self) -> dict[str, bytes]:
        folder = self.project / "cassettes" / SUITE_NAME
        return {path.name: path.read_bytes() for path in sorted(folder.glob("*.yaml"))}

    def put_old_cassettes(self) -> None:
        """Those of an agent that asked less."""
        for name, content in self.old_cassettes.items():
            (self.project / "cassettes" / SUITE_NAME / name).write_bytes(content)

    def run_chain(self, provider: str, tools: str, wanted: Counter[str]) -> list[Kill]:
        """Kills one run, again and again, in the phases that are wanted most."""
        undisturbed, cards = self.as_it_should_be(provider, tools)
        self._runs += 1
        name = f"killed-{self._runs}"
        folder, kills, kept = self.project / "runs" / name, list[Kill](), dict[str, object]()
        first = ("run", SUITE_NAME, "--run-name", name, "--sandbox", provider, "--live", LIVE[tools], "--jobs", "1")
        for _ in range(min(_LONGEST, wanted.total())):
            phase = max(wanted, key=lambda one: wanted[one] + self.random.random())
            words = ("run", "--resume", name, "--jobs", "1") if folder.exists() else first
            ended = self.commands(*words, moment=moment_in(phase, undisturbed.stays, self.random))
            if not ended.killed:
                if ended.status:
                    kills.append(Kill(phase=ended.fell_in, what=name, wrong=[ended.said]))
                break
            kill = Kill(phase=ended.fell_in, what=f"{provider} {tools}")
            kill.lost += _changed(kept, _finished(folder))
            kept = _finished(folder)
            self._clean_up(kill, {ended.pid})
            wanted[kill.phase] -= 1
            kills.append(kill)
        last = self.commands(*(("run", "--resume", name) if folder.exists() else first))
        _spoil(kills, [] if last.status == 0 else [last.said])
        for kill in kills:
            kill.lost += _changed(kept, _finished(folder))
            if scorecards(folder) != cards:
                kill.wrong.append("the scorecards are others")
        return kills

    def build_chain(self, length: int) -> list[Kill]:
        """Kills the build of an image and the sealing of a state, until they are let."""
        write_dockerfile(self.project, f"{self.random.getrandbits(64):x}")
        words, kills = ("snapshot", "build", "yard", "shut"), list[Kill]()
        seal = self.project / "snapshots/yard/shut/snapshot.json"
        for _ in range(length):
            ended = self.commands(*words, moment=moment_in("build", self.build.stays, self.random))
            if not ended.killed:
                break
            kill = Kill(phase=ended.fell_in, what="build")
            self._clean_up(kill, {ended.pid})
            if not seal.is_file() or seal.read_bytes() != self.seal:
                kill.lost.append("the sealed state")
            kills.append(kill)
        last = self.commands(*words)
        _spoil(kills, [] if last.status == 0 and seal.read_bytes() == self.seal else [last.said])
        return kills

    def record_chain(self, length: int) -> list[Kill]:
        """Kills recordings that add to tapes, until one is let."""
        words, kills = ("record", SUITE_NAME, "--agent", "v1", "--jobs", "1"), list[Kill]()
        folder = self.project / "cassettes" / SUITE_NAME
        self.put_old_cassettes()
        phases = [stay.phase for stay in self.recorded.stays]
        for _ in range(length):
            moment = moment_in(self.random.choice(phases), self.recorded.stays, self.random)
            ended = self.commands(*words, moment=moment)
            if not ended.killed:
                break
            kill = Kill(phase=ended.fell_in, what="record")
            self._clean_up(kill, {ended.pid}, journals=True)
            kill.lost += self._spoilt_cassettes()
            kills.append(kill)
        last = self.commands(*words)
        _spoil(kills, [] if last.status == 0 else [last.said])
        if self.tapes() != self.new_cassettes or list(folder.glob(".*")):
            _spoil(kills, ["the tapes are not those of an undisturbed recording"])
        return kills

    def as_it_should_be(self, provider: str, tools: str) -> tuple[Ended, dict[str, bytes]]:
        """An undisturbed run and its scorecards."""
        if (provider, tools) not in self._undisturbed:
            name = f"undisturbed-{provider}-{tools}"
            words = ("--run-name", name, "--sandbox", provider, "--live", LIVE[tools], "--jobs", "1")
            ended = self.commands.ok("run", SUITE_NAME, *words)
            self._undisturbed[provider, tools] = ended, scorecards(self.project / "runs" / name)
        return self._undisturbed[provider, tools]

    def _spoilt_cassettes(self) -> list[str]:
        """Tapes that hold less than the old one, or anything that the new one does not."""
        folder, spoilt = self.project / "cassettes" / SUITE_NAME, []
        for name, old in self.old_cassettes.items():
            (self.folder / "old.yaml").write_bytes(old)
            (self.folder / "new.yaml").write_bytes(self.new_cassettes[name])
            paths = (self.folder / "old.yaml", folder / name, self.folder / "new.yaml")
            held, found, new = ({one.model_dump_json() for one in load_cassette(path).recordings} for path in paths)
            if not held <= found <= new:
                spoilt.append(f"tape {name}")
        return spoilt

    def _clean_up(self, kill: Kill, pids: set[int], *, journals: bool = False) -> None:
        cleaned = self.commands("doctor", "--clean")
        if cleaned.status != 0:
            kill.wrong.append(cleaned.said)
        left = remains(self._client, pids, self.commands.temporary, self.project)
        kill.left += [one for one in left if not (journals and one.endswith(".journal"))]


@contextmanager
def killing_field(random: Random) -> Iterator[Field]:
    """In a folder with a short name, so that the sockets of its commands lie in it."""
    with tempfile.TemporaryDirectory(prefix="hk", dir="/tmp") as name:
        folder = Path(name)
        write_project(folder / "p")
        client = connect()
        try:
            with Commands(folder, folder / "p") as commands:
                yield Field(folder, commands, client, random)
        finally:
            _remove_images(client, folder / "p")
            client.close()


def _remove_images(client: docker.DockerClient, project: Path) -> None:
    for image in client.images.list(filters={"label": f"harness.killing={project}"}):
        client.images.remove(image.id, force=True)


def _finished(run: Path) -> dict[str, object]:
    """Every file of every finished trial: where it lies on the disk, when it was written, what it holds."""
    found: dict[str, object] = {}
    for path in sorted(run.glob("trials/*/[0-9]*/*")):
        if path.parent.name.isdigit():
            at = path.stat()
            found[str(path)] = (at.st_ino, at.st_mtime_ns, path.read_bytes())
    return found


def _changed(before: dict[str, object], after: dict[str, object]) -> list[str]:
    return [path for path, held in before.items() if after.get(path) != held]


def scorecards(run: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(run)): path.read_bytes() for path in sorted(run.glob("trials/*/[0-9]*/scorecard.json"))
    }


def _spoil(kills: list[Kill], wrong: list[str]) -> None:
    for kill in kills:
        kill.wrong += wrong
