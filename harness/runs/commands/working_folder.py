"""A command that is to be recorded: its request, its command line, its program, and its folder without secrets."""

import os
import re
import shlex
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from harness.cassettes.credentials import holds_issued_key
from harness.disk import is_folder
from harness.errors import UsageError
from harness.gateway.budgets import Budget
from harness.sandbox.local import has_packages, local_search_path
from harness.sandbox.providers import ProviderName

# Secrets in what a recording would store: values of the user's variables, and keys of an issuer's shape.

_SHORTEST_SECRET = 12
_SECRET_NAMES = ("KEY", "TOKEN", "SECRET", "PASSWORD")


def names_a_secret(variable: str) -> bool:
    return any(part in variable.upper() for part in _SECRET_NAMES)


@dataclass(frozen=True, kw_only=True)
class SecretTexts:
    """Finds secrets in a text."""

    values: Mapping[str, bytes]
    """Value by the name of its variable."""

    @classmethod
    def of_environment(cls, environment: Mapping[str, str]) -> "SecretTexts":
        """The variables that are secret by their name, and long enough to be searched for."""
        return cls(
            values={
                name: value.encode("utf-8", "surrogateescape")
                for name, value in environment.items()
                if len(value) >= _SHORTEST_SECRET and names_a_secret(name)
            }
        )

    def variable_in(self, content: bytes) -> str | None:
        """The name of the first variable whose value is there."""
        return next((name for name, value in self.values.items() if value in content), None)

    def reason(self, content: bytes) -> str | None:
        """What makes it a secret, as a predicate; None: nothing was recognised."""
        name = self.variable_in(content)
        if name is not None:
            return f"holds the value of the environment variable {name}"
        return "holds what looks like a key or token" if holds_issued_key(content.decode("utf-8", "replace")) else None

    def is_in(self, text: str) -> bool:
        """Whether a secret is in the text."""
        return self.reason(text.encode("utf-8", "surrogateescape")) is not None


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


def copy_folder(choice: FolderChoice, target: Path, secrets: SecretTexts) -> list[str]:
    """Copies the folder's content into `target`, links as links; gives what was left out.

    Raises UsageError for a folder that does not exist, for what looks like a secret, and for what is too large; each
    with the option that decides.
    """
    if not is_folder(choice.folder):
        raise UsageError(f"there is no folder {choice.folder}", remedy="name the folder that the command works in")
    left_out: list[str] = []
    size = 0
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
            if not _matches_any(inside, choice.include):
                _refuse_secret_content(path, inside, secrets)
            shutil.copyfile(path, copy)
            copy.chmod(0o755 if found.st_mode & 0o100 else 0o644)
        else:
            left_out.append(inside)
    return left_out


def _walk(choice: FolderChoice, folder: Path, above: str, left_out: list[str]) -> Iterator[tuple[Path, str]]:
    for path in sorted(folder.iterdir()):
        inside = f"{above}{path.name}"
        if not _matches_any(inside, choice.include):
            if _matches_any(inside, (*choice.exclude, *_LEFT_OUT)):
                left_out.append(inside)
                continue
            if _matches_any(inside.lower(), _SECRET) and not path.name.lower().endswith(_TEMPLATES):
                left_out.append(inside)
                continue
        yield path, inside
        if path.is_dir() and not path.is_symlink():
            yield from _walk(choice, path, f"{inside}/", left_out)


def _matches_any(inside: str, patterns: Sequence[str]) -> bool:
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
    if size > TOTAL_BYTES_MAX or entries > ENTRIES_MAX:
        most = f"{TOTAL_BYTES_MAX >> 20} MiB, or {ENTRIES_MAX} files"
        raise UsageError(f"the folder is too large for a snapshot: over {most}", remedy=remedy)


def _refuse_secret_content(path: Path, inside: str, secrets: SecretTexts) -> None:
    why = secrets.reason(path.read_bytes())
    if why is not None:
        raise _secret(inside, why)


def _secret(inside: str, why: str) -> UsageError:
    return UsageError(
        f"{inside} {why}; a snapshot is a file of the project, and is committed",
        remedy=f"--exclude {inside!r}, or --include {inside!r} if it may be stored",
    )


@dataclass(frozen=True, kw_only=True)
class CommandRequest:
    """One command, and what it may reach."""

    typed: tuple[str, ...]
    """The words behind `--`."""
    suite: str
    case_id: str | None = None
    """None: words of the task."""
    folder: FolderChoice
    """The folder that it works in."""
    mcp: Mapping[str, str]
    """Name -> the command of an MCP server."""
    allow_writes: bool = False
    """Whether tools and hosts may be written to."""
    sandbox: ProviderName = "docker"
    image: str | None = None
    """An image of the project that the command runs in; None: the built-in one."""
    seconds: float = 600.0
    budget: Budget | None = None
    environment: Mapping[str, str]
    """The user's own environment: keys, addresses, and where programs are searched for."""


TASK: Final = "{task}"
"""Stands in a command for the case's task."""

_QUOTED = re.compile(r"'[^']*'|\"((?:\\.|[^\"\\])*)\"|\\.", re.DOTALL)
_OF_A_SHELL = re.compile(r"[|&;<>()$`*?~\[\n#]|^\s*[A-Za-z_][A-Za-z0-9_]*=")
_IN_QUOTES = re.compile(r"[$`]")
_INTERPRETER = re.compile(r"(?:ba|da|z|k|fi|a)?sh|python[\d.]*|perl|ruby|node")
_TAKES_CODE = re.compile(r"-[A-Za-z]*[ce]|--eval")


def agent_command(typed: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """The words of the command, and its task: the last word of several words, which becomes `{task}`.

    One word alone is read as a shell reads it, and run by one if it uses what only a shell can do; its task is the
    whole. Raises UsageError for a command that cannot be read.
    """
    if len(typed) == 1 and _needs_shell(typed[0]):
        return ("sh", "-c", typed[0]), typed[0]
    try:
        words = shlex.split(typed[0]) if len(typed) == 1 else list(typed)
    except ValueError as error:
        raise UsageError(
            f"the command {typed[0][:200]!r} cannot be read: {error}", remedy="close its quotation marks"
        ) from None
    if not words or not words[0]:
        raise UsageError("the command is empty", remedy="harness record -- PROGRAM ARGUMENT ...")
    for at in range(len(words) - 1, 0, -1):
        if len(words[at].split()) > 1 and not _is_code(words, at):
            return (*words[:at], TASK, *words[at + 1 :]), words[at]
    return tuple(words), shlex.join(words)


def _is_code(words: Sequence[str], at: int) -> bool:
    """Whether the word is code for the program before it, as in `python3 -c 'print(1)'`."""
    program = words[at - 2].rpartition("/")[2] if at > 1 else ""
    return bool(_TAKES_CODE.fullmatch(words[at - 1]) and _INTERPRETER.fullmatch(program))


def shown(command: Sequence[str]) -> str:
    """The command as it would be typed."""
    return command[2] if command[:2] == ("sh", "-c") else shlex.join(command)


def program_of(command: Sequence[str]) -> str:
    """The name of its program, or of the file that an interpreter runs, without folder and ending."""
    words = shlex.split(command[2], comments=False) if tuple(command[:2]) == ("sh", "-c") else list(command)
    named = [word for word in words if not re.match(r"[A-Za-z_][A-Za-z0-9_]*=", word)]
    first = named[0].rpartition("/")[2] if named else "command"
    ran = next((word for word in named[1:] if not word.startswith("-")), first)
    return (ran if _INTERPRETER.fullmatch(first) and ran != TASK else first).rpartition("/")[2].partition(".")[0]


def _needs_shell(typed: str) -> bool:
    outside = _QUOTED.sub("_", typed)
    inside = [found[1] or "" for found in _QUOTED.finditer(typed)]
    return bool(_OF_A_SHELL.search(outside) or any(_IN_QUOTES.search(part) for part in inside))


def named_program(request: CommandRequest, command: tuple[str, ...]) -> tuple[str, ...]:
    """The command with a program of the active virtual environment by its name alone, as every machine has it.

    Raises UsageError for one of an environment that is not active: later runs would take another.
    """
    place, name = request.folder.folder / command[0], Path(command[0]).name
    if "/" not in command[0] or not has_packages(place.parent):
        return command
    found = shutil.which(name, path=local_search_path())
    if found is None or Path(found).parent.resolve() != place.parent.resolve():
        raise UsageError(
            f"{command[0]} belongs to a virtual environment that is not active, and is nowhere else",
            remedy=f"`source {Path(command[0]).parent}/activate`, then record -- {shlex.join((name, *command[1:]))}",
        )
    return (name, *command[1:])
