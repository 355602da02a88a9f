"""Converts a cassette between its two formats: YAML is for reading and reviewing, JSON opens much faster."""

from pathlib import Path
from typing import Literal

from harness.cassette.cassette import cassette_path, load_cassette, save_cassette
from harness.cassette.recorder.journal import only_writer

Format = Literal["yaml", "json"]


def convert_cassette(cassettes: Path, suite: str, case: str, to: Format) -> Path:
    """Writes the case's cassette as `to`, removes the other file, and returns the new path.

    Raises CassetteError, and leaves the cassette as it is, where it cannot be read, or contains data that JSON cannot
    represent.
    """
    with only_writer(cassettes / suite):
        path = cassette_path(cassettes, suite, case)
        new = path.with_suffix(f".{to}")
        cassette = load_cassette(path)
        if new == path:
            return path
        save_cassette(new, cassette, suite=suite, case=case)
        path.unlink()
        return new
