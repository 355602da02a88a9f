"""Where scores of sessions are stored: those that are kept, and those that wait to be sent."""

import fcntl
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from harness.disk import flush_folder, read_plain_file, write_atomically
from harness.errors import HarnessError, ResultsError
from harness.processes import partial_name
from harness.production.engine import connect, has_columns, parquet, readable_errors
from harness.production.scores import FACTS, SessionScore, facts_of
from harness.suite.problems import first_problem
from harness.values import digest_of

# Where scores of sessions are stored: one file a batch, each written whole, so that a session is scored exactly once.
#
# `scores/N.jsonl` holds a batch. A batch whose harness was killed before the file was renamed is not there, and its
# sessions are scored again; one that is there is never scored again by the same scorers. Beside it stands `N.parquet`:
# the same as flat rows, for charts and reports.


class ScoreStore:
    """The scores of one store's folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def add(self, scores: Iterable[SessionScore]) -> Path | None:
        """Writes a batch; scores that are there already are left out. None: there was nothing to write."""
        with self._exclusive():
            return self._write_batch(scores)

    def _write_batch(self, scores: Iterable[SessionScore]) -> Path | None:
        known = self.identities()
        fresh = {one.identity: one for one in scores if one.identity not in known}
        if not fresh:
            return None
        number = 1 + max((number for number, _ in self._batches()), default=0)
        path = self._folder / f"{number:09}.jsonl"
        lines = [_score_line(one) for one in fresh.values()]
        self._write_facts(path, fresh.values())
        write_atomically(path, "".join(lines).encode("utf-8", "replace"))
        path.chmod(0o600)
        return path

    def identities(self) -> set[str]:
        """Of every score: which are not to be made again."""
        return {identity for identity, _, _ in self._heads()}

    def scored_cases(self) -> dict[str, str]:
        """Identity without the case -> the case of the last such score; "" for one that is not a trial of a case."""
        return {shared: case for _, shared, case in self._heads()}

    def _heads(self) -> Iterator[tuple[str, str, str]]:
        """(identity, identity without the case, case) of every score, oldest batch first, without reading the rest."""
        for _, path in self._batches():
            with path.open("rb") as stream:
                for line in stream:
                    head = line[:_HEAD].decode("ascii", "replace")
                    identity, shared, case = head[14:46], head[59:91], head[102:134]
                    yield (identity, shared, case) if head[49:58] == '"shared":' else (identity, identity, "")

    def read(self, *, since_ns: int = 0) -> Iterator[SessionScore]:
        """Every score of sessions received since then, oldest batch first. Raises ResultsError that names the line."""
        for _, path in self._batches():
            yield from (score for score in self._scores_of(path) if score.received_ns >= since_ns)

    def facts(self) -> list[Path]:
        """The flat rows of every batch: see `harness.production.scores`.

        They are made again from the batch if they are missing, cut short, or of an older harness.
        """
        return [self._sound_facts(path) for _, path in self._batches()]

    def _sound_facts(self, path: Path) -> Path:
        flat = path.with_suffix(".parquet")
        if not has_columns(flat, FACTS):
            with self._exclusive():
                if path.exists():
                    self._write_facts(path, self._scores_of(path))
        return flat

    def _scores_of(self, path: Path) -> Iterator[SessionScore]:
        with path.open("rb") as stream:
            for number, line in enumerate(stream, 1):
                yield _parsed_score(path, number, line)

    def scored_sessions(self, suite: str) -> set[str]:
        """Sessions that rules of this suite have scored, in whatever version."""
        files = self.facts()
        if not files:
            return set()
        query = f"SELECT DISTINCT session FROM {parquet(files)} WHERE suite = ? AND kind = 'rules'"
        with connect() as connection:
            return {row[0] for row in connection.execute(query, [suite]).fetchall()}

    def suites(self) -> tuple[str, ...]:
        """Suites that have scored a session, by name."""
        rows = self._query_rows("SELECT DISTINCT suite FROM {facts} ORDER BY suite", [])
        return tuple(str(row[0]) for row in rows)

    def failed_among(self, sessions: Sequence[str]) -> set[str]:
        """Those of the sessions of which a stored score, perhaps of an older version, says that something failed."""
        failed = "(signal = 'success' OR signal LIKE 'mode:%' OR signal LIKE 'criterion:%') AND value > 0"
        query = "SELECT DISTINCT session FROM {facts} WHERE list_contains(?, session) AND " + failed
        return {str(row[0]) for row in self._query_rows(query, [list(sessions)])} if sessions else set()

    def of_session(self, session: str) -> list[SessionScore]:
        """Every score of one session, oldest first; lines of others are not read as scores."""
        sought = json.dumps(session, ensure_ascii=False).encode("utf-8", "replace")
        found = []
        for _, path in self._batches():
            with path.open("rb") as stream:
                found += [_parsed_score(path, number, line) for number, line in enumerate(stream, 1) if sought in line]
        return [one for one in found if one.session == session]

    def _query_rows(self, query: str, values: list[object]) -> list[tuple[Any, ...]]:
        files = self.facts()
        if not files:
            return []
        with connect() as connection, readable_errors(files[0].parent, _WRITE_REMEDY):
            return connection.execute(query.format(facts=parquet(files)), values).fetchall()

    def remove(self, gone: Callable[[SessionScore], bool]) -> int:
        """Removes the scores for which `gone` holds; the number of removed ones."""
        with self._exclusive():
            return self._remove_scores(gone)

    def _remove_scores(self, gone: Callable[[SessionScore], bool]) -> int:
        removed = 0
        for _, path in self._batches():
            scores = list(self._scores_of(path))
            kept = [one for one in scores if not gone(one)]
            removed += len(scores) - len(kept)
            if len(kept) < len(scores):
                self._write_facts(path, kept)
                write_atomically(path, "".join(map(_score_line, kept)).encode("utf-8", "replace"))
                path.chmod(0o600)
        return removed

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """Rounds of several processes wait for each other: two would give their batches the same number."""
        with (self._folder / ".writing").open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _batches(self) -> list[tuple[int, Path]]:
        found = [path for path in self._folder.glob("*.jsonl") if path.stem.isdecimal() and not path.is_symlink()]
        return sorted((int(path.stem), path) for path in found)

    def _write_facts(self, path: Path, scores: Iterable[SessionScore]) -> None:
        rows = [row for one in scores for row in facts_of(one)]
        temporary = path.with_name(partial_name(path.with_suffix(".parquet").name))
        lines = temporary.with_name(f"{temporary.name}.rows")
        columns = ", ".join(f"{name}: '{kind}'" for name, kind in FACTS.items())
        try:
            write_atomically(lines, "".join(json.dumps(row) + "\n" for row in rows).encode())
            query = (
                f"COPY (SELECT * FROM read_json('{_sql_path(lines)}', format = 'newline_delimited',"
                f" columns = {{{columns}}})) TO '{_sql_path(temporary)}' (FORMAT parquet, COMPRESSION zstd)"
            )
            with connect() as connection, readable_errors(path.with_suffix(".parquet"), _WRITE_REMEDY):
                connection.execute(query)
            with temporary.open("rb") as stream:
                os.fsync(stream.fileno())
            temporary.replace(path.with_suffix(".parquet"))
            flush_folder(path.parent)
        finally:
            lines.unlink(missing_ok=True)
            temporary.unlink(missing_ok=True)


def _sql_path(path: Path) -> str:
    return str(path).replace("'", "''")


_HEAD: Final = 134
"""Characters of a line that hold its identities."""
_WRITE_REMEDY: Final = "free some space there; sessions without a stored score are scored in the next round"


def _score_line(score: SessionScore) -> str:
    """The identities stand first, at fixed places, so that known scores are found without reading the rest."""
    shared = f'"shared":"{score.shared_identity}", "case":"{score.case}", ' if score.case else ""
    return f'{{"identity": "{score.identity}", {shared}"score": {score.model_dump_json()}}}\n'


def _parsed_score(path: Path, number: int, line: bytes) -> SessionScore:
    try:
        return SessionScore.model_validate(json.loads(line)["score"])
    except (ValueError, KeyError, TypeError) as error:
        problem = str(error)[:200]
        if isinstance(error, ValidationError):
            place, words = first_problem(SessionScore, error)
            problem = f"field {'.'.join(map(str, place))!r}: {words}"[:200]
        remedy = f"move {path.name} out of the folder: its sessions are then scored again"
        raise ResultsError(f"{path}:{number}: is not a score of a session: {problem}", remedy=remedy) from None


# Scores on their way out: `harness.production.sending` says as what.
#
# A file in the outbox stands for scores that were not sent yet. It is written before the scores and removed after the
# receiver has taken them, so that none is lost; one that is sent twice has the same id, by which receivers tell.

_DAMAGED: Final = ".damaged"
Send = Callable[[Sequence[SessionScore]], int]
"""Sends scores, and returns the number of evaluations in them; raises HarnessError if they were not taken."""


class ScoreOutbox:
    """The folder of scores that wait."""

    def __init__(self, folder: Path, send: Send) -> None:
        self._folder = folder
        self._send = send

    def announce(self, scores: Sequence[SessionScore]) -> None:
        """Keeps scores until `deliver` has sent them."""
        documents = [one.model_dump(mode="json") for one in scores if not one.skipped]
        if documents:
            content = json.dumps(documents).encode()
            write_atomically(self._folder / f"{time.time_ns()}-{digest_of(documents)[:8]}.json", content)

    def deliver(self, say: Callable[[str], None] = lambda _: None) -> int:
        """Sends everything that waits, oldest first; the number of evaluations.

        Raises HarnessError at the first failure.

        A file that holds no scores is reported to `say`, and kept under another name: the others are sent.
        """
        sent = 0
        for path in sorted(self._folder.glob("*.json")):
            try:
                scores = _waiting_scores(path)
            except FileNotFoundError:  # another process has sent it
                continue
            except (OSError, ValueError, TypeError, RecursionError, HarnessError) as error:
                kept = path.replace(path.with_name(f"{path.name}{_DAMAGED}"))
                say(f"{path}: holds no scores and is not sent; kept as {kept.name}: {str(error)[:200]}")
                continue
            sent += self._send(scores)
            path.unlink(missing_ok=True)
        return sent

    @property
    def damaged(self) -> int:
        """Files that held no scores and were kept aside."""
        return sum(1 for _ in self._folder.glob(f"*{_DAMAGED}"))

    @property
    def waiting(self) -> int:
        """Batches that were not sent yet."""
        return sum(1 for _ in self._folder.glob("*.json"))


def forget_waiting(folder: Path, gone: Callable[[SessionScore], bool], before_ns: int | None = None) -> None:
    """Removes scores from an outbox. A damaged file may hold any of them: it goes too, if it was written before
    `before_ns`; None: in any case.
    """
    for path in (*folder.glob("*.json"), *folder.glob(f"*{_DAMAGED}")):
        try:
            scores = _waiting_scores(path)
        except FileNotFoundError:
            continue
        except (OSError, ValueError, TypeError, RecursionError, HarnessError):
            if before_ns is None or path.lstat().st_mtime_ns < before_ns:
                path.unlink(missing_ok=True)
            continue
        kept = [one for one in scores if not gone(one)]
        if not kept:
            path.unlink(missing_ok=True)
        elif len(kept) < len(scores):
            write_atomically(path, json.dumps([one.model_dump(mode="json") for one in kept]).encode())


def _waiting_scores(path: Path) -> list[SessionScore]:
    return [SessionScore.model_validate(one) for one in json.loads(read_plain_file(path))]
