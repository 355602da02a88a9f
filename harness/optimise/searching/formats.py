"""Texts that a program reads as data, such as a file of examples in JSON, must stay readable."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path, PurePosixPath
from typing import Final

from harness.documents import yaml_values
from harness.errors import InvalidDocument


def _lines(text: str) -> None:
    for line in text.splitlines():
        if line.strip():
            json.loads(line)


def _yaml(text: str) -> None:
    """Within bounds: ten lines of aliases in a model's answer unfold to more values than any memory holds."""
    yaml_values(Path("text"), text)


_READERS: Final[Mapping[str, Callable[[str], object]]] = {
    ".json": json.loads,
    ".jsonl": _lines,
    ".yaml": _yaml,
    ".yml": _yaml,
}


def format_problem(name: str, before: str, after: str) -> str | None:
    """Why the text of that name can no longer be read as what its suffix says; None where it can, or never could."""
    reader = _READERS.get(PurePosixPath(name).suffix)
    if reader is None or _problem(reader, before) is not None:
        return None
    problem = _problem(reader, after)
    return None if problem is None else f"the text is not valid {PurePosixPath(name).suffix[1:]} any more: {problem}"


def _problem(reader: Callable[[str], object], text: str) -> str | None:
    try:
        reader(text)
    except (ValueError, RecursionError, InvalidDocument) as error:
        return str(error).splitlines()[0]
    return None
