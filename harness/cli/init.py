"""`harness init`: a first project, its workflows for CI, and the schemas of its files."""

import base64
import hashlib
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from io import BytesIO
from pathlib import Path
from typing import Final, Literal
from urllib.parse import urlsplit

import click

from harness import __version__
from harness.errors import HarnessError, UsageError
from harness.plugins import DISTRIBUTION
from harness.runs.plan.planning import takes_own_packages
from harness.suite.loading import load_suite
from harness.suite.suite_file import suite_names
from harness.suite.suites import Suite

# JSON Schemas of the hand-written files.


def write_schemas(project: Path) -> list[Path]:
    """Writes `schemas/<kind>.json` of this version; gives the paths."""
    import json

    from harness.disk import write_atomically
    from harness.runs.schemas import KINDS_OF_DOCUMENT, published_schema

    folder = project / "schemas"
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for kind in KINDS_OF_DOCUMENT:
        path = folder / f"{kind}.json"
        write_atomically(path, (json.dumps(published_schema(kind), indent=2, ensure_ascii=False) + "\n").encode())
        written.append(path)
    return written


# `harness init`: writes a first evaluation project and CI workflows.

_TEMPLATE = Path(__file__).parent / "template"
_KEYS = {
    "github": "repository secrets of the names in the workflows",
    "gitlab": "masked CI/CD variables of the names in suite.yaml",
    "shell": "environment variables of the names in suite.yaml",
}
_RENAMED = {"gitignore": ".gitignore"}


@click.command("init")
@click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--ci",
    type=click.Choice(["github", "gitlab", "shell"]),
    help="Also write workflows of this CI service, or scripts for any other, for pull requests and for every night; in"
    " an existing project: write only the workflows, and add new suites to those that exist.",
)
@click.option(
    "--install",
    metavar="SPEC",
    help="Source that workflows install from: a wheel file, https://...whl#sha256=HASH, or git+https://...@COMMIT. "
    "Default: a wheel of this installation, committed next to the workflows.",
)
@click.option("--schemas", is_flag=True, help="In an existing project: write only schemas/, for this version.")
def init_command(folder: Path, ci: "Service | None", install: str | None, schemas: bool) -> None:
    """Write a first evaluation project into FOLDER.

    \b
    harness init my-evals
    harness --project my-evals run hello
    harness init my-evals --ci github
    harness init my-evals --ci gitlab
    harness init my-evals --ci github --install git+https://git.example.com/tools/harness@COMMIT

    Workflows install every package by its hash, from requirements.txt in .github/harness/, .gitlab/harness/ or
    ci/harness/.
    Existing files are never overwritten: the project is written completely or not at all. An existing workflow
    gets a line for each suite that it does not name.

    schemas/ has the JSON Schemas of suite.yaml and the other hand-written files. An editor with YAML support completes
    and checks a file that begins with a line such as `# yaml-language-server: $schema=../../schemas/suite.json`.
    """
    if schemas:
        if ci is not None or not (folder / "suites").is_dir():
            raise UsageError(
                "--schemas is for an existing project, without --ci", remedy="harness init FOLDER --schemas"
            )
        for path in write_schemas(folder):
            click.echo(f"wrote {path}")
        return
    if install is not None and ci is None:
        raise UsageError("--install says how workflows install the harness", remedy="add --ci github")
    if ci is None or not (folder / "suites").is_dir():
        _write_project(folder)
    if ci is None:
        click.echo(f"\nNext: harness --project {folder} run hello")
        return

    for path, said in write_workflows(folder, ci, install).items():
        click.echo(f"wrote {path}" if said == "wrote" else f"{path}: {said}")
    for line in unreachable(folder):
        click.echo(f"note: {line}")
    typed = "harness" if folder.resolve() == Path.cwd() else f"harness --project {folder}"
    click.echo(
        "\nNext: run each suite and store it as the baseline of pull requests\n"
        f"  {typed} run {suite_names(folder)[0]} --run-name first\n"
        f"  {typed} baseline first\n"
        f"and commit baselines/ and {_PLACES[ci].partition('/')[0]}*. Keys are {_KEYS[ci]}."
    )


def _write_project(folder: Path) -> None:
    names = {path: path.relative_to(_TEMPLATE) for path in _files(_TEMPLATE)}
    targets = {path: folder / name.with_name(_RENAMED.get(name.name, name.name)) for path, name in names.items()}
    taken = [str(target) for target in targets.values() if target.exists()]
    if taken:
        raise UsageError(f"files exist already: {', '.join(taken)}", remedy="choose another folder, or remove them")
    for path, target in targets.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
        click.echo(f"wrote {target}")
    for written in write_schemas(folder):
        click.echo(f"wrote {written}")


# Packs the running installation as a wheel, so that other machines install exactly this program.
#
# Building one from source needs the source folder; an installation contains its own files and metadata.

_PACKAGE = Path(__file__).parents[1]
_STEM = f"{DISTRIBUTION.replace('-', '_')}-{__version__}"
WHEEL_NAME = f"{_STEM}-py3-none-any.whl"
_WHEEL = "Wheel-Version: 1.0\nGenerator: harness\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a zip archive can hold: the same files give the same bytes."""


def own_wheel() -> bytes:
    """The wheel's bytes. Raises HarnessError where the harness runs from a source folder that is not installed."""
    files = {path.relative_to(_PACKAGE.parent).as_posix(): path.read_bytes() for path in _files(_PACKAGE)}
    files |= {f"{_STEM}.dist-info/{name}": text.encode() for name, text in _metadata().items()}
    record = f"{_STEM}.dist-info/RECORD"
    lines = [f"{name},sha256={_digest(content)},{len(content)}\n" for name, content in sorted(files.items())]
    files[record] = "".join([*lines, f"{record},,\n"]).encode()
    archive = BytesIO()
    with zipfile.ZipFile(archive, "w") as wheel:
        for name, content in files.items():
            member = zipfile.ZipInfo(name, _EPOCH)
            member.external_attr = 0o644 << 16
            wheel.writestr(member, content, zipfile.ZIP_DEFLATED)
    return archive.getvalue()


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


def _metadata() -> dict[str, str]:
    try:
        own = metadata.distribution(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        raise HarnessError(
            f"the distribution {DISTRIBUTION} is not installed, so no wheel of it can be made",
            remedy="python -m pip install --no-deps --editable . in its source folder, or name a wheel: --install FILE",
        ) from None
    texts = {name: own.read_text(name) for name in ("METADATA", "entry_points.txt")}
    return {name: text for name, text in texts.items() if text is not None} | {"WHEEL": _WHEEL}


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


# Commands by which a workflow installs the harness, every file pinned by its hash.

_DEPENDENCIES = Path(__file__).parent / "template_github" / "requirements.txt"
_REQUIREMENTS = "requirements.txt"
_COMMIT = re.compile(r"git\+(https|ssh)://[^\s'\"#@]+(?:@[^\s'\"#@/]+/[^\s'\"#@]+)?@[0-9a-f]{40}")
_HASHED_URL = re.compile(r"(https://[^\s'\"#]+\.whl)#sha256=([0-9a-f]{64})")
_WHEEL_FILE = re.compile(rf"{DISTRIBUTION.replace('-', '_')}-[\w.!+]+-py3-none-any\.whl")


@dataclass(frozen=True)
class Installation:
    """`commands`: the lines of the workflow's step. `files`: files to commit, by path in the repository."""

    commands: tuple[str, ...]
    files: Mapping[str, bytes]


def installation(spec: str | None, place: str) -> Installation:
    """The installation of the harness in a workflow, from files in the folder `place` of the repository.

    `spec`: a wheel file, which is copied beside the requirements; `https://...whl#sha256=HASH`; or
    `git+https://...@COMMIT` with all 40 digits. None: a wheel of the running installation.

    Raises UsageError for anything else: a bare package name could install any file of an index.
    """
    if spec is None:
        return _of_wheel(WHEEL_NAME, own_wheel(), place)
    if _COMMIT.fullmatch(spec):
        source = f'python -m pip install --no-deps --no-build-isolation "{DISTRIBUTION} @ {spec}"'
        return Installation((_hashed(place), source), {f"{place}/{_REQUIREMENTS}": _DEPENDENCIES.read_bytes()})
    if hashed := _HASHED_URL.fullmatch(spec):
        return _of_requirement(f"{DISTRIBUTION} @ {hashed[1]} --hash=sha256:{hashed[2]}", {}, place)
    path = Path(spec)
    if _WHEEL_FILE.fullmatch(path.name) and path.is_file():
        return _of_wheel(path.name, path.read_bytes(), place)
    raise UsageError(
        f"--install {spec!r} cannot be pinned by a hash",
        remedy=f"a wheel file ({WHEEL_NAME}), https://...whl#sha256=HASH, or git+https://...@COMMIT with 40 digits",
    )


def _of_wheel(name: str, content: bytes, place: str) -> Installation:
    path = f"{place}/{name}"
    digest = hashlib.sha256(content).hexdigest()
    return _of_requirement(f"./{path} --hash=sha256:{digest}", {path: content}, place)


def _of_requirement(line: str, files: Mapping[str, bytes], place: str) -> Installation:
    requirements = _DEPENDENCIES.read_bytes() + f"{line}\n".encode()
    return Installation((_hashed(place),), {**files, f"{place}/{_REQUIREMENTS}": requirements})


def _hashed(place: str) -> str:
    # `--no-deps`: the file is complete; for a requirement with extras pip would take a newer release, without a hash.
    return f"python -m pip install --no-deps --require-hashes -r {place}/{_REQUIREMENTS}"


# Writes CI workflows for the suites of a project.

Service = Literal["github", "gitlab", "shell"]

_PLACES: Final = {"github": ".github/harness", "gitlab": ".gitlab/harness", "shell": "ci/harness"}
"""Folder of the requirements and the wheel in the repository."""
_NIGHTLY: Final = "harness-nightly"
"""Name of the nightly workflow, which calls real services."""
_FILES: Final = {
    "github": {
        ".github/workflows/harness-pull-request.yml": "template_github/harness-pull-request.yml",
        f".github/workflows/{_NIGHTLY}.yml": f"template_github/{_NIGHTLY}.yml",
    },
    "gitlab": {
        ".gitlab/harness.yml": "template_gitlab/harness.yml",
        f".gitlab/{_NIGHTLY}.yml": f"template_gitlab/{_NIGHTLY}.yml",
        ".gitlab-ci.yml": "template_gitlab/gitlab-ci.yml",
    },
    "shell": {
        "ci/harness-pull-request.sh": "template_shell/harness-pull-request.sh",
        f"ci/{_NIGHTLY}.sh": f"template_shell/{_NIGHTLY}.sh",
    },
}
"""Path in the repository -> its template."""
_SUITE_LINES: Final = {
    "github": "          - {{suite: {name}, options: {options}}}",
    "gitlab": "      - {{SUITE: {name}, OPTIONS: {options}}}",
    "shell": "suite {name} {options}",
}
"""How each service's file names a suite."""
_LOCKS: Final = ("requirements.lock", "requirements.txt", "pyproject.toml")
"""What names the packages of a program, the most exact first."""
_LOOPBACK: Final = re.compile(r"(.+\.)?localhost|127(\.\d+){3}|::1|0\.0\.0\.0")


def write_workflows(project: Path, service: Service, install: str | None = None) -> dict[Path, str]:
    """Writes the missing workflows beside `.git`, and adds suites to existing ones; returns what was done by path."""
    suites = [load_suite(project, name) for name in suite_names(project)]
    if not suites:
        raise UsageError(f"{project} has no suite", remedy="harness init FOLDER writes a project with one")
    root = _repository(project)
    setup = installation(install, _PLACES[service])
    said: dict[Path, str] = {}
    for name, template in _FILES[service].items():
        path = root / name
        own = [suite for suite in suites if _has_outside(suite)] if path.stem == _NIGHTLY else suites
        if path.exists():
            said[path] = _with_suites(path, own, service) + _included(path)
        elif not own:
            said[path] = "not written: no suite uses tools of a server; run the command again when one does"
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            within = project.resolve().relative_to(root)
            path.write_text(_filled(template, own, within, setup.commands), encoding="utf-8")
            said[path] = "wrote"
    if "wrote" in said.values():
        said |= _write_files(root, setup)
    return said


def _with_suites(path: Path, suites: Sequence[Suite], service: Service) -> str:
    """Adds the suites that the file does not name behind the last one that it names, or says which lines to add."""
    text = path.read_text(encoding="utf-8", errors="replace")
    before, stands = _SUITE_LINES[service].partition("{name}")[0].replace("{{", "{"), "exists already"
    lines = text.splitlines(keepends=True)
    named = [number for number, line in enumerate(lines) if line.startswith(before)]
    known = {re.split(r"[ ,]", lines[number].removeprefix(before))[0].strip() for number in named}
    new = [suite for suite in suites if suite.name not in known]
    if path.name == ".gitlab-ci.yml" or not new:
        return f"{stands} and was not changed"
    keys = [line for line in _keys(path.name, new)[1:] if service == "github" and f"{line}\n" not in text]
    told = "".join(f"\n  add to the step with its keys: {line.strip()}" for line in keys)
    added = [f"{_suite_line(service, suite)}\n" for suite in new]
    if not named:
        return f"{stands} and was not changed: add\n{''.join(added)}{told}".rstrip()
    lines[named[-1] + 1 : named[-1] + 1] = added
    path.write_text("".join(lines), encoding="utf-8")
    return f"{stands}: added {', '.join(suite.name for suite in new)}{told}"


def _included(path: Path) -> str:
    """A hint for GitLab, which reads only one file: an existing one has to include the new file."""
    if path.name != ".gitlab-ci.yml" or ".gitlab/harness" in path.read_text(encoding="utf-8", errors="replace"):
        return ""
    return ': add to it\n  include:\n    - local: "/.gitlab/harness*.yml"'


def unreachable(project: Path) -> Iterator[str]:
    """What a job elsewhere cannot reach, or measures nothing of: servers of this machine, and doubles of models."""
    for suite in (load_suite(project, name) for name in suite_names(project)):
        model = suite.model
        servers = {f"server {name}": one.base_url for name, one in suite.reached.items() if not one.command}
        models = {f"model {name}": one.base_url for name, one in (model.servers if model else {}).items()}
        for field, url in {**servers, **models}.items():
            if url is not None and _LOOPBACK.fullmatch(urlsplit(url).hostname or ""):
                way = "`command` in suite.yaml starts it" if field in servers else "start it in the workflow"
                yield f"{suite.name}: {field}: {url} is this machine: {way}"
        if model is not None and model.double:
            yield f"{suite.name}: model: it is a double: a live run in the workflow says nothing about a model"


def _has_outside(suite: Suite) -> bool:
    """Whether the suite calls a server in a nightly run; the sandbox and its browser cannot drift."""
    return any(not (server.sandbox or server.browser) for server in suite.reached.values())


def _write_files(root: Path, setup: Installation) -> dict[Path, str]:
    said: dict[Path, str] = {}
    for name, content in setup.files.items():
        path = root / name
        if path.exists() and path.read_bytes() != content:
            said[path] = "exists already with other content and was not changed: remove it to create it again"
        elif not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            said[path] = "wrote"
    return said


def _repository(project: Path) -> Path:
    """The folder with `.git` at or above the project; without one, the project itself."""
    here = project.resolve()
    return next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)


def _filled(template: str, suites: Sequence[Suite], within: Path, install: Iterable[str]) -> str:
    prefix = "" if within == Path() else f"{within.as_posix()}/"
    text = (Path(__file__).parent / template).read_text(encoding="utf-8").replace("@@ROOT@@", prefix)
    service = template.partition("/")[0].removeprefix("template_")
    for mark, lines in _blocks(service, template, suites, prefix[:-1], install).items():
        text = text.replace(f"@@{mark}@@\n", "".join(f"{line}\n" for line in lines))
    return text


def _blocks(
    service: str, template: str, suites: Sequence[Suite], project: str, install: Iterable[str]
) -> dict[str, list[str]]:
    before, named = {"github": ("          ", "      "), "gitlab": ("    - ", "    "), "shell": ("", "")}[service]
    variable = f"{named}HARNESS_PROJECT: {project}" if service != "shell" else f"export HARNESS_PROJECT={project}"
    return {
        "SUITES": [_suite_line(service, suite) for suite in suites],
        "COMMENT_PROJECT": ["    env:", variable] if project else [],
        "PROJECT": [variable] if project else [],
        "INSTALL": [f"{before}{line}" for line in install],
        "PACKAGES": [f"{before}{line}" for line in _packages(service, suites, Path(project))],
        "KEYS": _keys(template, suites),
    }


def _suite_line(service: str, suite: Suite) -> str:
    return _SUITE_LINES[service].format(name=suite.name, options=f'"{_options(suite)}"')


def _options(suite: Suite) -> str:
    """Options of the workflow: the model answers live, always with a budget."""
    options = ["--sandbox local"] if takes_own_packages(suite) else []
    if suite.model is not None:
        options.append(f"--live model --budget {'usd=2' if suite.model.prices else 'tokens=2000000'}")
    return " ".join(options)


def _packages(service: str, suites: Sequence[Suite], within: Path) -> list[str]:
    """Commands that make the virtual environment of the suites' programs, which a run takes from PATH."""
    if not any(map(takes_own_packages, suites)):
        return []
    found = [name for name in _LOCKS if (suites[0].folder.parents[1] / name).is_file()]
    install = 'echo "write here what installs the packages of the program into .venv" && exit 2'
    if found:
        place = f"./{within}" if found[0] == _LOCKS[-1] else f"-r {within / found[0]}"
        install = f".venv/bin/python -m pip install {place}"
    path = 'echo "$PWD/.venv/bin" >> "$GITHUB_PATH"' if service == "github" else 'export PATH="$PWD/.venv/bin:$PATH"'
    return ["python3 -m venv .venv", install, path]


def _keys(name: str, suites: Iterable[Suite]) -> list[str]:
    """The `env` of the step that calls real services, and of no other: on a pull request a model alone is one."""
    names = {name for suite in suites for name in (suite.model.secrets if suite.model else ())}
    if _NIGHTLY in name:
        names |= {secret for suite in suites for secret in suite.secrets}
    lines = [f"          {name}: ${{{{ secrets.{name} }}}}" for name in sorted(names)]
    return ["        env:", *lines] if lines else []
