"""Scores on their way out: `harness.online.scores.senders` says as what.

A file in the outbox stands for scores that were not sent yet. It is written before the scores and removed after the
receiver has taken them, so that none is lost; one that is sent twice has the same id, by which receivers tell.
"""

import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from harness.documents import write_atomically
from harness.errors import HarnessError
from harness.online.scores.scores import SessionScore
from harness.plain_files import read_plain_file
from harness.values import digest_of

_DAMAGED: Final = ".damaged"
Send = Callable[[Sequence[SessionScore]], int]
"""Sends scores, and returns the number of evaluations in them; raises HarnessError where they were not taken."""


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
    """Removes scores from an outbox. A damaged file may hold any of them: it goes too, where it was written before
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
