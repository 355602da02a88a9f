"""The folder that a command works in, copied for a snapshot: without secrets, and within bounds."""

import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from harness.disk import is_folder
from harness.errors import UsageError
from harness.pipeline.command.secret_texts import SecretTexts

FILE_BYTES_MAX: Final = 10 * 2**20
TOTAL_BYTES_MAX: Final = 100 * 2**20
ENTRIES_MAX: Final = 20_000

_LEFT_OUT: Final = (
    *(".git", ".hg", ".svn", "__pycache__", ".venv", "venv", "node_modules", ".tox", ".DS_Store"),
    *(".mypy_cache", ".pytest_cache", ".ruff_cache", ".harness"),
)
"""What is derived, or belongs to the machine."""
_SECRET: Final = (
    *(".env", ".env.*", "*.env", ".netrc", ".npmrc", ".pypirc", ".htpasswd", ".git-credentials", "credentials.json"),
    *("*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.kdbx", "id_rsa", "id_dsa", "id_ecdsa", "id_ed25519"),
    *(".aws", ".ssh", ".gnupg", ".kube"),
)
_TEMPLATES: Final = (".example", ".sample", ".template", ".dist")


@dataclass(frozen=True, kw_only=True)
class FolderChoice:
    """What of the folder is copied."""

    folder: Path
    exclude: Sequence[str] = ()
    """Patterns of names, or of paths inside the folder, that are left out."""
    include: Sequence[str] = ()
    """The same of what is copied though it is usually left out or looks like a secret."""


@dataclass(frozen=True, kw_only=True)
class CopiedFolder:
    """What became of it."""

    files: int
    size: int
    left_out: tuple[str, ...]


def copy_folder(choice: FolderChoice, target: Path, secrets: SecretTexts) -> CopiedFolder:
    """Copies the folder's content into `target`, links as links.

    Raises UsageError for a folder that is none, for what looks like a secret, and for what is too large; each with the
    option that decides.
    """
    if not is_folder(choice.folder):
        raise UsageError(f"there is no folder {choice.folder}", remedy="name the folder that the command works in")
    left_out: list[str] = []
    files = size = 0
    target.mkdir(parents=True, exist_ok=True)
    for entries, (path, inside) in enumerate(_walk(choice, choice.folder, "", left_out), 1):
        found = path.lstat()
        size += found.st_size if stat.S_ISREG(found.st_mode) else 0
        _refuse_too_much(inside, found, size, entries)
        _refuse_name(inside)
        copy = target / inside
        if stat.S_ISDIR(found.st_mode):
            copy.mkdir()
        elif stat.S_ISLNK(found.st_mode):
            copy.symlink_to(os.readlink(path))  # noqa: PTH115 - Path.readlink() would not keep the target as it is
        elif stat.S_ISREG(found.st_mode):
            if not _meets(inside, choice.include):
                _refuse_secret_content(path, inside, secrets)
            shutil.copyfile(path, copy)
            copy.chmod(0o755 if found.st_mode & 0o100 else 0o644)
            files += 1
        else:
            left_out.append(inside)
    return CopiedFolder(files=files, size=size, left_out=tuple(left_out))


def same_content(one: Path, other: Path) -> bool:
    """Whether two copies have the same files, links and folders."""
    return _listed(one) == _listed(other)


def _listed(folder: Path) -> dict[str, object]:
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found[inside] = path.readlink()
        elif path.is_file():
            found[inside] = (path.read_bytes(), path.stat().st_mode & 0o100)
    return found


def _walk(choice: FolderChoice, folder: Path, above: str, left_out: list[str]) -> Iterator[tuple[Path, str]]:
    for path in sorted(folder.iterdir()):
        inside = f"{above}{path.name}"
        if not _meets(inside, choice.include):
            if _meets(inside, (*choice.exclude, *_LEFT_OUT)):
                left_out.append(inside)
                continue
            if _meets(inside.lower(), _SECRET) and not path.name.lower().endswith(_TEMPLATES):
                raise _secret(inside, "may hold secrets, by its name")
        yield path, inside
        if path.is_dir() and not path.is_symlink():
            yield from _walk(choice, path, f"{inside}/", left_out)


def _meets(inside: str, patterns: Sequence[str]) -> bool:
    name = inside.rpartition("/")[2]
    return any(fnmatchcase(name, pattern) or fnmatchcase(inside, pattern.rstrip("/")) for pattern in patterns)


def _refuse_name(inside: str) -> None:
    pattern = "".join("?" if "\ud800" <= letter <= "\udfff" else letter for letter in inside)
    if pattern != inside:
        raise UsageError(
            f"the name of the file {os.fsencode(inside)!r} is not UTF-8", remedy=f"rename it, or --exclude {pattern!r}"
        )


def _refuse_too_much(inside: str, found: os.stat_result, size: int, entries: int) -> None:
    remedy = f"leave out what the command does not need, for example --exclude {inside.partition('/')[0]!r}"
    if stat.S_ISREG(found.st_mode) and found.st_size > FILE_BYTES_MAX:
        raise UsageError(
            f"{inside} is too large for a snapshot: {found.st_size / 2**20:.0f} MiB, at most {FILE_BYTES_MAX >> 20}",
            remedy=f"--exclude {inside!r}, or put it into the image",
        )
    if size > TOTAL_BYTES_MAX:
        raise UsageError(f"the folder is too large for a snapshot: over {TOTAL_BYTES_MAX >> 20} MiB", remedy=remedy)
    if entries > ENTRIES_MAX:
        raise UsageError(f"the folder has over {ENTRIES_MAX} files, too many for a snapshot", remedy=remedy)


def _refuse_secret_content(path: Path, inside: str, secrets: SecretTexts) -> None:
    why = secrets.reason(path.read_bytes())
    if why is not None:
        raise _secret(inside, why)


def _secret(inside: str, why: str) -> UsageError:
    return UsageError(
        f"{inside} {why}; a snapshot is a file of the project, and is committed",
        remedy=f"--exclude {inside!r}, or --include {inside!r} if it may be stored",
    )
