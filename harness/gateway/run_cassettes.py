"""The cassettes of a run's cases, each read when the first trial of its case needs it."""

import threading
from collections.abc import Mapping
from pathlib import Path

from harness.cassette import Cassette, Redactor, cassette_path, open_cassette, refuse_secrets


class RunCassettes:
    """Safe to use from many threads."""

    def __init__(self, folder: Path, suite: str, secrets: Mapping[str, str], *, grow: bool) -> None:
        """`grow`: the run records, so that each trial of a case uses the recordings of the one before."""
        self._folder = folder
        self._suite = suite
        self._secrets = secrets
        self._grow = grow
        self._loaded: dict[str, Cassette] = {}
        self._lock = threading.Lock()

    def of(self, case_id: str) -> Cassette:
        """The case's cassette; empty where the case has none. Raises CassetteError, also for a secret in it."""
        with self._lock:
            if case_id not in self._loaded or self._grow:
                path = cassette_path(self._folder, self._suite, case_id)
                cassette = open_cassette(path) if path.exists() else Cassette()
                refuse_secrets(path, cassette.recordings, Redactor(dict(self._secrets)))
                self._loaded[case_id] = cassette
            return self._loaded[case_id]
