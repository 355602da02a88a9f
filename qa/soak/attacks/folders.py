"""Run folders, shards and baselines that somebody else made: links, FIFOs, devices, and suites that name code."""

import json
import os
import random
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from harness.suite.loading import load_suite
from qa.soak.attacks.documents import naming_files
from qa.soak.attacks.project import Project, project, row_of
from qa.soak.attacks.watching import watched
from qa.soak.rows import Row

SECONDS = 30
"""A verb that takes longer on a run of two trials hangs."""
VERBS = 5
"""How many of all verbs are tried on one spoiled place."""
RUN_PLACES = (
    "manifest.json",
    "suite.json",
    "stopped.json",
    "rounds.json",
    ".lock",
    "drift.json",
    "judgements/r.jsonl",
    "live/s/a.1.yaml",
    "report/summary.md",
    "trials/a/1/trial.json",
    "trials/a/1/scorecard.json",
    "trials/a/1/spans.jsonl",
    "trials/a/1/seal.json",
    "trials/a/1/end_state.tar",
    "trials/a/1/page-1-x.png",
    "trials/b",
    "trials/a",
    "trials",
    "report",
    "scores",
    "scores/1",
    "judgements",
)
_SUITE = "checks: [{name: said, verifier: final_answer, with: {contains: ok}}]\n"
_CASES = "- {id: a, task: x}\n- {id: b, task: y}\n"
_AGENT = """\
import os, urllib.request
open("made", "w").write("x")
urllib.request.urlopen(os.environ["HARNESS_GATEWAY_URL"] + "/reply", b'{"message": "ok"}').read()
"""
_CODE = """\
from pathlib import Path
Path({marker!r}).write_text("ran")
class Check:
    version, name = "1", "evil"
    def __init__(self, **parameters): ...
    def verify(self, evidence): return True, "fine", {{}}
    def measure(self, evidence): return 1.0, ""
def accepts(answer, expected): return True
"""
ON_A_RUN = (
    ("score", "r"),
    ("report", "r"),
    ("report", "r", "--html"),
    ("report", "r", "--format", "junit"),
    ("explain", "r", "a"),
    ("explain", "r", "a", "--transcript", "everything"),
    ("compare", "r", "other"),
    ("compare", "other", "r"),
    ("baseline", "r"),
    ("export", "r", "--format", "atif", "-o", "out"),
    ("trend", "s"),
    ("case", "from-trace", "r", "a"),
    ("drift", "compare", "r"),
    ("issue", "file", "r"),
    ("run", "--resume", "r", "--sandbox", "local"),
    ("run", "s", "--failed-in", "r", "--sandbox", "local"),
)
Words = tuple[str, ...]
Spoil = Callable[[Path, Path], None]


def _link(place: Path, host: Path) -> None:
    place.symlink_to(host)


def _fifo(place: Path, _: Path) -> None:
    os.mkfifo(place)


def _device(place: Path, _: Path) -> None:
    place.symlink_to("/dev/zero")


def _hole(place: Path, _: Path) -> None:
    place.touch()
    os.truncate(place, 1 << 40)


SPOILS: dict[str, Spoil] = {"link": _link, "FIFO": _fifo, "device": _device, "hole": _hole}


def rows(random: random.Random, scale: float) -> Iterator[Row]:
    with project() as here:
        here.write(_SUITE, _CASES, _AGENT)
        run = ["run", "s", "--sandbox", "local", "--run-name"]
        made = [here(*run, name) for name in ("r", "other")]
        made += [here(*run, f"part-{n}", "--shard", f"{n}/2") for n in (1, 2)]
        made += [here("score", "r"), here("report", "r", "--html"), here("baseline", "other")]
        missing = [done.stderr[-200:] for done in made if done.returncode]
        places = [(place, spoil) for place in RUN_PLACES for spoil in SPOILS if spoil != "hole" or "." in place]
        few = min(max(3, round(len(places) * scale / 2)), len(places))
        chosen = random.sample(places, few)
        yield _row(
            "run folders", here, "r", ON_A_RUN, [(*one, random.sample(ON_A_RUN, VERBS)) for one in chosen], missing
        )
        merge = (("merge", "part-1", "part-2", "--run-name", "whole"),)
        yield _row("shards", here, "part-1", merge, [(*one, list(merge)) for one in chosen], missing)
        yield _baselines(here, missing)
        yield _naming_code(here, missing, scale)
        yield naming_files(here, ON_A_RUN, random, missing)


def _row(
    what: str,
    here: Project,
    run: str,
    verbs: Sequence[Words],
    places: Sequence[tuple[str, str, Sequence[Words]]],
    missing: list[str],
) -> Row:
    """`places`: a place in the run folder, how it is spoiled, and the verbs that are tried on it."""
    missing = [*missing, *_controls(here, run, verbs)]
    wrong = []
    for place, spoil, chosen in places:
        for words, problem in _tried(here, f"runs/{run}/{place}", SPOILS[spoil], chosen):
            wrong.append((f"{place} a {spoil}, {' '.join(words)}", problem))
    tries = sum(len(chosen) for _, _, chosen in places)
    return row_of(f"hostile {what}: links, FIFOs, devices, holes", tries, wrong, missing)


def _controls(here: Project, run: str, verbs: Sequence[Words]) -> Iterator[str]:
    """Verbs that do not work where nothing is wrong, and a reader that follows links and is not seen."""
    with _copied(here) as copied:
        for words in verbs:
            done = copied(*words, timeout_s=SECONDS)
            if done.returncode and words[0] not in _NOTHING_THERE:
                yield f"{' '.join(words)}: {done.stderr[-200:]}"
    with _copied(here) as copied:
        outside = _outside(copied, f"runs/{run}/manifest.json", _link)
        with watched(outside) as watch:
            (copied.folder / f"runs/{run}/manifest.json").read_bytes()
            if not watch.touched():
                yield "a file that is read through a link is not seen"


_NOTHING_THERE = {"judge", "drift", "issue", "run"}
"""The run was not judged and has no drift; nothing failed in it."""


class _copied:
    """A copy of a project, which is gone afterwards."""

    def __init__(self, here: Project) -> None:
        self._here = here
        self._kept = tempfile.TemporaryDirectory(prefix="attacked-", ignore_cleanup_errors=True)

    def __enter__(self) -> Project:
        folder = Path(self._kept.name) / "project"
        shutil.copytree(self._here.folder, folder, symlinks=True)
        return Project(folder)

    def __exit__(self, *_: object) -> None:
        self._kept.cleanup()


def _outside(copied: Project, place: str, spoil: Spoil) -> Path:
    """Puts the spoiled thing where the good one was, which a link leads to: whoever follows it notices nothing."""
    outside = copied.folder.parent / "outside"
    outside.mkdir()
    target, host = copied.folder / place, outside / "host"
    if target.exists():
        target.rename(host)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        host.write_text("{}")
    spoil(target, host)
    return outside


def _tried(here: Project, place: str, spoil: Spoil, verbs: Sequence[Words]) -> Iterator[tuple[Words, str]]:
    with _copied(here) as copied:
        outside = _outside(copied, place, spoil)
        with watched(outside) as watch:
            for words in verbs:
                began = time.monotonic()
                try:
                    done = copied(*words, timeout_s=SECONDS)
                except AssertionError:
                    yield words, f"hangs for {time.monotonic() - began:.0f} s"
                    continue
                if "Traceback" in done.stdout + done.stderr or done.returncode not in {0, 1, 2, 3}:
                    yield words, f"exit {done.returncode}: {done.stderr[-200:]}"
                if touched := watch.touched():
                    yield words, f"touched outside: {', '.join(touched)[:150]}"


def _baselines(here: Project, missing: list[str]) -> Row:
    wrong = []
    gated = (("run", "s", "--sandbox", "local", "--against-baseline"), ("baseline", "other"))
    for name, spoil in SPOILS.items():
        for words, problem in _tried(here, "baselines/s.json", spoil, gated):
            wrong.append((f"baselines/s.json a {name}, {' '.join(words)}", problem))
    return row_of(
        "hostile baselines: links, FIFOs, devices, holes",
        len(SPOILS) * len(gated),
        wrong,
        [*missing, *_controls(here, "r", gated)],
    )


def _naming_code(here: Project, missing: list[str], scale: float) -> Row:
    """A stored suite that names code: none of it runs; the project's own does."""
    ways: dict[str, dict[str, Any]] = {
        "verifier": {"checks": [{"name": "k", "verifier": "evil.py:Check"}]},
        "module": {"checks": [{"name": "k", "verifier": "evil:Check"}]},
        "function": {"checks": [{"name": "k", "verifier": "final_answer", "with": {"function": "evil.py:accepts"}}]},
        "metric": {"metrics": ["evil.py:Check"]},
        "server": {"servers": {"s": {"python": "evil.py"}}},
        "program": {"servers": {"s": {"mcp": {"command": ["touch", "{marker}"]}}}},
    }
    verbs = [*ON_A_RUN, ("merge", "r", "other", "--run-name", "whole")][:: 1 if scale >= 0.1 else 6]
    wrong = []
    for way, changed in ways.items():
        with _copied(here) as copied:
            marker = _with_code(copied, changed)
            for words in verbs:
                done = copied(*words, timeout_s=SECONDS)
                if marker.exists():
                    wrong.append((f"{way}, {' '.join(words)}", "the code ran"))
                    marker.unlink()
                if "Traceback" in done.stderr:
                    wrong.append((f"{way}, {' '.join(words)}", done.stderr[-200:]))
    with _copied(here) as copied:
        marker = _with_code(copied, {})
        shutil.copy(copied.folder / "runs/r/evil.py", copied.suite / "evil.py")
        text = (copied.suite / "suite.yaml").read_text(encoding="utf-8")
        own = text.replace("checks: [", "checks: [{name: own, verifier: 'evil.py:Check'}, ")
        (copied.suite / "suite.yaml").write_text(own, encoding="utf-8")
        copied("run", "s", "--sandbox", "local", timeout_s=SECONDS)
        if not marker.exists():
            missing = [*missing, "the code does not run where the project itself names it"]
    return row_of("hostile run folders: suites that name code", len(ways) * len(verbs), wrong, missing)


def _with_code(copied: Project, changed: dict[str, Any]) -> Path:
    """A run folder with a suite that says where its code is, in every way that one can."""
    marker, run = copied.folder.parent / "ran", copied.folder / "runs" / "r"
    for place in (run, run / "trials", copied.folder / "runs"):
        (place / "evil.py").write_text(_CODE.format(marker=str(marker)), encoding="utf-8")
    suite = load_suite(copied.folder, "s").model_copy(
        update={"folder": run} | ({"digest": "0" * 64} if changed else {})
    )
    told = json.dumps(suite.model_dump(mode="json", by_alias=True) | changed).replace("{marker}", str(marker))
    (run / "suite.json").write_text(told, encoding="utf-8")
    return marker
