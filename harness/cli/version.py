"""`harness --version`: versions for a bug report."""

import platform
import re
from collections.abc import Iterator
from importlib import metadata

from harness import __version__
from harness.distribution import DISTRIBUTION
from harness.sandbox.engine_version import engine_version

_OF_DEVELOPERS = re.compile(r"extra == ['\"]dev")
_NAME = re.compile(r"[A-Za-z0-9._-]+")


def version_lines() -> Iterator[str]:
    """The lines of the output."""
    yield f"harness {__version__}"
    yield f"python {platform.python_version()} ({platform.python_implementation()})"
    yield f"platform {platform.platform()}"
    yield f"engine {engine_version() or 'none that answers on this machine'}"
    yield f"libraries {', '.join(_libraries())}"


def _libraries() -> Iterator[str]:
    """The libraries that the harness requires, with installed extras."""
    try:
        required = metadata.requires(DISTRIBUTION) or []
    except metadata.PackageNotFoundError:  # the source is run without installation
        return
    for name in sorted({_name(line) for line in required if not _OF_DEVELOPERS.search(line)}):
        try:
            yield f"{name} {metadata.version(name)}"
        except metadata.PackageNotFoundError:
            continue


def _name(requirement: str) -> str:
    found = _NAME.match(requirement)
    return found.group().lower() if found else requirement
