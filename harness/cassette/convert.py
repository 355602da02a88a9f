"""A tape in the other of its two formats: YAML is for reading and reviewing, JSON opens many times quicker."""

from pathlib import Path
from typing import Literal

from harness.cassette.journal import only_writer
from harness.cassette.tape import load_tape, save_tape, tape_path

Format = Literal["yaml", "json"]


def convert_tape(cassettes: Path, suite: str, case: str, to: Format) -> Path:
    """Writes the case's tape as `to` and removes the other file; where it lies now.

    Raises CassetteError, and leaves the tape as it is, where it cannot be read, or holds what JSON cannot.
    """
    with only_writer(cassettes / suite):
        path = tape_path(cassettes, suite, case)
        new = path.with_suffix(f".{to}")
        tape = load_tape(path)
        if new == path:
            return path
        save_tape(new, tape, suite=suite, case=case)
        path.unlink()
        return new
