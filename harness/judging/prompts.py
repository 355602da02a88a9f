"""Prompts by name, version and label, as files that a person can read, compare and revert.

    prompts/<name>/<version>.md     one version's text; never changed once used, because results contain its digest
    prompts/<name>/labels.yaml      label -> version: `production: "3"`, `candidate: "4"`

A project's prompts override the package's prompts of the same name. `production` falls back to the package's own, or to
the newest version if the package has none.
"""

import re
from importlib.resources import files
from pathlib import Path
from typing import Final, Literal

from pydantic import Field

from harness.disk import write_atomically
from harness.errors import InvalidDocument, UsageError
from harness.suite.documents import read_document
from harness.values import Frozen, digest_of_text

PRODUCTION: Final = "production"
_LABELS: Final = "labels.yaml"
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_MAX_CHARS: Final = 200_000


class Prompt(Frozen):
    """One version of a prompt."""

    name: str
    version: str
    text: str = Field(min_length=1)
    source: Literal["project", "package", "fallback"] = "project"
    label: str | None = None
    """The label by which it was found; None: it was found by its version."""

    @property
    def digest(self) -> str:
        """Sha-256 of the text alone."""
        return digest_of_text(self.text)


class PromptRegistry:
    """The prompts of a project, with the package's own as the fallback."""

    def __init__(self, project: Path, *, packaged: bool = True) -> None:
        """`packaged` False: only the project's, as for prompts of agents."""
        self._own = project / "prompts"
        self._with_packaged = packaged
        self._packaged = Path(str(files("harness.judging") / "templates" / "prompts"))

    def names(self) -> tuple[str, ...]:
        """The names of all prompts that have a version."""
        found = {path.parent.name for root in self._roots() for path in root.glob("*/*.md")}
        return tuple(sorted(found))

    def versions(self, name: str) -> tuple[str, ...]:
        """Oldest first: numbers by value, followed by other names in alphabetical order."""
        found = {path.stem for root in self._roots() for path in (root / _checked_name(name)).glob("*.md")}
        return tuple(sorted(found, key=_version_order))

    def labels(self, name: str) -> dict[str, str]:
        """Label -> version; the project's over the package's. Raises InvalidDocument."""
        found: dict[str, str] = {}
        for root in reversed(self._roots()):
            path = root / _checked_name(name) / _LABELS
            if path.exists():
                found |= read_document(path, dict[str, str])
        return found

    def version(self, name: str, version: str) -> Prompt:
        """The given version. Raises UsageError if it does not exist, InvalidDocument if it cannot be read."""
        sources: tuple[Literal["project", "package"], ...] = ("project", "package")
        for root, source in zip(self._roots(), sources, strict=False):
            path = root / _checked_name(name) / f"{_checked_name(version)}.md"
            if path.is_file():
                return Prompt(name=name, version=version, text=_file_text(path), source=source)
        known = ", ".join(self.versions(name)) or "none"
        raise UsageError(
            f"there is no version {version!r} of the prompt {name!r}", remedy=f"versions in prompts/{name}/: {known}"
        )

    def get(self, name: str, label: str = PRODUCTION, *, fallback: str | None = None) -> Prompt:
        """The version that the label names. With a `fallback`, a label that is not set names the version of
        `production`, and a prompt that does not exist is the `fallback`. Without one, both raise UsageError.
        """
        labels, versions = self.labels(name), self.versions(name)
        if versions and fallback is None and label not in (PRODUCTION, *labels):
            raise UsageError(
                f"no version of the prompt {name!r} has the label {label!r}",
                remedy=f"harness judge prompts {name}@{versions[-1]} --label LABEL sets one;"
                f" labels here: {', '.join(labels) or 'none'}",
            )
        chosen = labels.get(label) or labels.get(PRODUCTION) or (versions[-1] if versions else None)
        if chosen is not None:
            return self.version(name, chosen).model_copy(update={"label": label})
        if fallback is not None:
            return Prompt(name=name, version="fallback", text=fallback, source="fallback", label=label)
        known = ", ".join(self.names()) or "none"
        raise UsageError(f"there is no prompt {name!r}", remedy=f"write prompts/{name}/1.md; prompts here: {known}")

    def write(self, name: str, version: str, text: str) -> Prompt:
        """A new version in the project. Raises UsageError if it exists with another text."""
        path = self._own / _checked_name(name) / f"{_checked_name(version)}.md"
        if path.exists() and _file_text(path) != text:
            raise UsageError(
                f"{path} already exists with another text", remedy="save the changed prompt as a new version"
            )
        write_atomically(path, text.encode())
        return Prompt(name=name, version=version, text=text)

    def add(self, name: str, text: str, label: str) -> Prompt:
        """The text as the next version in the project, under the label; an unchanged text makes no new version."""
        versions = self.versions(name)
        known = next((one for one in versions if self.version(name, one).text == text), None)
        number = 1 + max((int(one) for one in versions if one.isdecimal()), default=0)
        prompt = self.version(name, known) if known else self.write(name, str(number), text)
        self.set_label(name, label, prompt.version)
        return prompt

    def set_label(self, name: str, label: str, version: str) -> None:
        """Sets the label to that version, in the project's file. Raises UsageError if the version does not exist."""
        self.version(name, version)
        path = self._own / _checked_name(name) / _LABELS
        labels = read_document(path, dict[str, str]) if path.exists() else {}
        lines = [f'{key}: "{value}"\n' for key, value in sorted((labels | {_checked_name(label): version}).items())]
        write_atomically(path, "".join(lines).encode())

    def _roots(self) -> tuple[Path, ...]:
        return (self._own, self._packaged) if self._with_packaged else (self._own,)


def _checked_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot be the name, version or label of a prompt: letters, digits, '.', '_', '-'")
    return name


def _version_order(version: str) -> tuple[int, int, str]:
    return (0, int(version), "") if version.isdecimal() else (1, 0, version)


def _file_text(path: Path) -> str:
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InvalidDocument(path, "is not UTF-8") from None
    except OSError as error:
        raise InvalidDocument(path, f"cannot be read: {error.strerror}") from None
    if not text.strip() or len(text) > _MAX_CHARS:
        raise InvalidDocument(path, "is empty" if not text.strip() else f"is longer than {_MAX_CHARS} characters")
    return text
