"""Drift looked for between releases that really differ, and between runs of one release that does not.

    python -m qa.drift_real.run [--environments FOLDER]

What the changelogs announce is in `expected.yaml`, written down before the first comparison; `unannounced.yaml` has
what they left out and was seen to be so in the code. Prints what was found, missed and false, and what ten live runs of
the same release said.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from qa.drift_real.releases import installed, served_datasette, shop_database
from tests.drift.conftest import NUMBER, TEXT, Project, tool
from tests.drift.shop import Shop

HERE = Path(__file__).parent
Change = tuple[str, str, str]
"""Operation, class and path."""

DATASETTE = [
    tool("get_table", "read", {"path": "/shop/items.json"}),
    tool("run_sql", "read", {"path": "/shop.json", "query": {"sql": "sql"}}, sql=TEXT),
    tool("get_settings", "read", {"path": "/-/settings.json"}),
    tool("get_versions", "read", {"path": "/-/versions.json"}),
    tool("get_metadata", "read", {"path": "/-/metadata.json"}),
    tool("get_row", "read", {"path": "/shop/items.json", "query": {"id__exact": "id"}}, id=NUMBER),
]
_SQL = {"sql": "select id, name from items order by id"}
_NOISE = {
    "sql": "select hex(randomblob(16)) as id, random() as number, random() / 1e18 as share,"
    " strftime('%Y-%m-%dT%H:%M:%f', 'now') as at, name from items order by random()"
}
READS: dict[str, list[list[Any]]] = {
    "data": [["get_table", {}], ["run_sql", _SQL]],
    "about": [["get_settings", {}], ["get_versions", {}], ["get_metadata", {}]],
}
NOISY: dict[str, list[list[Any]]] = {
    "noise": [["run_sql", _NOISE], ["get_table", {}], ["get_row", {"id": 2}]],
    "about": READS["about"],
}


@dataclass(frozen=True)
class Outcome:
    """One pair."""

    pair: str
    announced: frozenset[Change]
    unannounced: frozenset[Change]
    """Real, and not in the changelog."""
    told: frozenset[Change]

    @property
    def missed(self) -> list[Change]:
        return sorted((self.announced | self.unannounced) - self.told)

    @property
    def false(self) -> list[Change]:
        return sorted(self.told - self.announced - self.unannounced)


def pairs() -> list[dict[str, Any]]:
    """With what their changelogs announce."""
    listed: list[dict[str, Any]] = yaml.safe_load((HERE / "expected.yaml").read_text(encoding="utf-8"))
    return listed


def announced_words(listed: list[dict[str, Any]]) -> str:
    """How many changes are announced, and by how many statements: many changes may rest on one."""
    sources = [change["source"] for pair in listed for change in pair["changes"]]
    most = max(sources.count(source) for source in sources)
    return f"{len(sources)} announced changes, told by {len(set(sources))} sources, of which one announces {most}"


def outcome_of(pair: dict[str, Any], environments: Path, folder: Path) -> Outcome:
    """Records the older release, takes what it answers for steady, and probes the newer."""
    older, newer = (installed(pair[which], environments) for which in ("older", "newer"))
    project = Project(folder / "project", Shop())
    with _served(project, older, folder, READS):
        project.record()
        project.type("drift", "learn", "s", "--accept")
        clean = _told(project.probe())
        assert not clean, f"the older release is said to differ from itself: {sorted(clean)}"
    with _served(project, newer, folder, READS):
        breaking = any(one["class"].endswith(("removed", "error", "type_changed")) for one in pair["changes"])
        told = _told(project.probe(status=1 if breaking else 0))
    left_out = yaml.safe_load((HERE / "unannounced.yaml").read_text(encoding="utf-8"))[pair["pair"]]
    return Outcome(pair["pair"], _changes(pair["changes"]), _changes(left_out), told)


def same_release(release: str, environments: Path, folder: Path, times: int) -> list[frozenset[Change]]:
    """What each of so many live runs against the recorded release said, its values being taken for known before."""
    programs = installed(release, environments)
    project = Project(folder / "project", Shop())
    with _served(project, programs, folder, NOISY):
        project.record()
        project.type("drift", "learn", "s", "--accept")
        for number in range(times):
            live = ["--sandbox", "local", "--no-flips", "--run-name", f"live{number}"]
            project.type("drift", "s", "--trials", "1", *live)
    return [_told(project.report(f"live{number}")) for number in range(times)]


@contextmanager
def _served(project: Project, programs: Path, folder: Path, cases: dict[str, list[list[Any]]]) -> Iterator[None]:
    if (programs / "datasette").exists():
        database = folder / "shop.db"
        if not database.exists():
            shop_database(folder)
        with served_datasette(programs, database) as url:
            project.shop.url = url
            project.write(cases, DATASETTE)
            yield
        return
    text = folder / "menu.txt"
    text.write_text("Biscuit 2.50\nDonut 1.75\nBagel 3.00\n")
    place = {"command": [str(programs / "mcp-text-editor")]}
    asked = {"files": [{"file_path": str(text), "ranges": [{"start": 1, "end": 2}]}]}
    group = {"mcp": place, "server": "editor", "reads": ["get_*"], "disposable": True}
    project.write({"read": [["get_text_file_contents", asked]]}, [group], servers={})
    if not (project.suite / "tools").exists():
        project.type("tool", "refresh", "s")
    yield


def _told(report: dict[str, Any]) -> frozenset[Change]:
    return frozenset((one["operation"], one["change"], one["path"]) for one in report["findings"])


def _changes(listed: list[dict[str, str]]) -> frozenset[Change]:
    return frozenset((one["operation"], one["class"], one["path"]) for one in listed)


def main() -> None:
    parser = argparse.ArgumentParser(description="Looks for drift between released versions of real servers.")
    parser.add_argument("--environments", type=Path, help="Where the releases are installed and kept; else anew.")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        sys.exit(_all(asked.environments or Path(scratch) / "environments", Path(scratch)))


def _all(environments: Path, scratch: Path) -> int:
    print(f"{'pair':40} {'announced':>9} {'found':>5} {'missed':>6} {'unannounced':>11} {'false':>5}")
    print(announced_words(pairs()))
    wrong = 0
    for number, pair in enumerate(pairs()):
        folder = scratch / str(number)
        folder.mkdir()
        one = outcome_of(pair, environments, folder)
        found = len(one.announced & one.told)
        counts = f"{len(one.announced):>9} {found:>5} {len(one.missed):>6} {len(one.unannounced):>11}"
        print(f"{one.pair:40} {counts} {len(one.false):>5}", flush=True)
        for word, changes in (("missed", one.missed), ("false", one.false)):
            for change in changes:
                print(f"  {word}: {' '.join(change)}")
        wrong += len(one.missed) + len(one.false)
    for release in ("datasette-0.64.8", "datasette-1.0a3", "mcp-text-editor-1.0.2"):
        folder = scratch / f"same-{release}"
        folder.mkdir()
        said = [len(told) for told in same_release(release, environments, folder, 10)]
        print(f"{release}: {len(said)} live runs of the recorded release, findings: {' '.join(map(str, said))}")
        wrong += sum(said)
    return 1 if wrong else 0


if __name__ == "__main__":
    main()
