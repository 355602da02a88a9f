"""Run folders whose documents name other files, or are made to end or hold whoever reads them."""

import json
import random
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from harness.runs.store.storage import commit_folder
from qa.soak.attacks.project import Project, row_of
from qa.soak.attacks.watching import watched
from qa.soak.rows import Row

SECONDS = 60
Words = tuple[str, ...]
MERGE: Words = ("merge", "part-1", "part-2", "--run-name", "whole")
_VERBS = 4
"""How many of all verbs are tried on one document."""


def _changed(runs: Path, name: str, change: Callable[[bytes], bytes]) -> None:
    """A file of a committed trial, with its checksum."""
    place = runs / "r/trials/a/1"
    files = {file.name: file.read_bytes() for file in place.iterdir() if file.name != "seal.json"}
    shutil.rmtree(place)
    commit_folder(place, files | {name: change(files[name])})


def _named(**fields: Any) -> Callable[[bytes], bytes]:
    return lambda content: json.dumps(json.loads(content) | fields).encode()


def _trial(runs: Path, outside: Path) -> None:
    _changed(runs, "trial.json", _named(case_id=str(outside / "host")))


def _scorecard(runs: Path, outside: Path) -> None:
    _changed(runs, "scorecard.json", _named(case_id=str(outside / "host")))


def _archive(runs: Path, _: Path) -> None:
    entry = bytearray(tarfile.TarInfo("files/x").tobuf())
    entry[124:136] = b"\xff" + (-512).to_bytes(11, "big", signed=True)
    entry[148:156] = b" " * 8
    entry[148:156] = b"%06o\0 " % sum(entry)
    _changed(
        runs, "end_state.tar", lambda content: content.rstrip(b"\0") + bytes(-len(content.rstrip(b"\0")) % 512) + entry
    )


def _scoring(runs: Path, _: Path) -> None:
    (runs / "r/scores/\u00b2").mkdir()


DOCUMENTS = (_trial, _scorecard, _archive, _scoring)


def naming_files(here: Project, verbs: Sequence[Words], random: random.Random, missing: list[str]) -> Row:
    """Nothing outside is touched, nothing hangs, and nothing ends by a traceback; `missing`: controls of the verbs."""
    wrong = []
    for spoil in DOCUMENTS:
        for words in [*random.sample(verbs, _VERBS), MERGE]:
            with tempfile.TemporaryDirectory(prefix="attacked-", ignore_cleanup_errors=True) as kept:
                copied, outside = Project(Path(kept) / "project"), Path(kept) / "outside"
                shutil.copytree(here.folder, copied.folder, symlinks=True)
                outside.mkdir()
                spoil(copied.folder / "runs", outside)
                with watched(outside) as watch:
                    problem = _problem(copied, words) or ", ".join(watch.touched())
                if problem:
                    wrong.append((f"{spoil.__name__.strip('_')}, {' '.join(words)}", problem))
    with tempfile.TemporaryDirectory(prefix="attacked-") as kept, watched(Path(kept)) as watch:
        (here.folder / "runs" / f"{kept}/host.jsonl").write_text("{}", encoding="utf-8")
        if not watch.touched():
            missing = [*missing, "a file that is written by a path in a document is not seen"]
    return row_of("hostile run folders: documents", len(DOCUMENTS) * (_VERBS + 1), wrong, missing)


def _problem(copied: Project, words: Words) -> str | None:
    try:
        done = copied(*words, timeout_s=SECONDS)
    except AssertionError:
        return f"hangs for {SECONDS} s"
    if "Traceback" in done.stdout + done.stderr or done.returncode not in {0, 1, 2, 3}:
        return f"exit {done.returncode}: {done.stderr[-200:]}"
    return None
