"""A task's Dockerfile with the images of the project in the place of a registry's, and a python3 for the launcher."""

import re
from collections.abc import Callable

_ARG = re.compile(r"^\s*ARG\s+(\w+)=(\S+)\s*$", re.IGNORECASE)
_FROM = re.compile(r"^(\s*FROM\s+(?:--platform=\S+\s+)?)(\S+)((?:\s+AS\s+(\S+))?\s*)$", re.IGNORECASE)
_COPY = re.compile(r"^(\s*COPY\s(?:.*?\s)?--from=)(\S+)(\s.*)$", re.IGNORECASE)
_VARIABLE = re.compile(r"\$\{?(\w+)\}?")
_NEEDS = (
    "USER root",
    "RUN command -v python3 >/dev/null 2>&1"
    " || { command -v apt-get >/dev/null && apt-get update -qq && DEBIAN_FRONTEND=noninteractive"
    " apt-get install -y -qq --no-install-recommends python3; }"
    " || apk add --no-cache python3",
)
"""Appended to every Dockerfile; `USER` has no effect on a sandbox."""


def rewritten(text: str, tag_for: Callable[[str], str | None]) -> str:
    """The Dockerfile to build; `tag_for` gives the tag that replaces an image's name, None where it stays.

    Names of stages are left as they are. An `ARG` with a default above the first `FROM` is filled in.
    """
    stages: set[str] = {"scratch"}
    defaults: dict[str, str] = {}
    lines = []

    def replaced(line: re.Match[str]) -> str:
        name = _VARIABLE.sub(lambda found: defaults.get(found[1], found[0]), line[2])
        tag = None if name.lower() in stages or name.isdigit() else tag_for(name)
        return line[1] + (line[2] if tag is None else tag) + line[3]

    for line in text.splitlines():
        if (begins := _FROM.match(line)) is not None:
            lines.append(replaced(begins))
            if begins[4]:
                stages.add(begins[4].lower())
            continue
        if (default := _ARG.match(line)) is not None and len(stages) == 1:
            defaults[default[1]] = default[2].strip("\"'")
        copies = _COPY.match(line)
        lines.append(line if copies is None else replaced(copies))
    return "\n".join((*lines, *_NEEDS)) + "\n"


def external_images(text: str) -> tuple[str, ...]:
    """The images that a Dockerfile names and does not make itself, in their order."""
    found: list[str] = []

    def note(name: str) -> None:
        found.append(name)

    rewritten(text, note)
    return tuple(dict.fromkeys(found))
