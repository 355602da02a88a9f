"""Python wheels for images: fetched on the host by hash, and added in a layer with their bytecode.

Nothing is downloaded inside a build: a build has no access to a package index, and a read-only root could not write the
bytecode later. Scripts that packages install are omitted, because they would name this machine's Python; `python3 -m`
replaces them. Environment markers in the requirements are read for the Python that runs the harness.
"""

import hashlib
import re
import shutil
from pathlib import Path

from harness.disk import flush_tree
from harness.process_identity import partial_name
from harness.sandbox.images.bootstrap import PYTHON, Progress
from harness.sandbox.images.pip import run_pip
from harness.sandbox.images.recipe import ContextFile, read_files

_SITE = f"/usr/local/lib/python{PYTHON}/dist-packages"
LISTS = "/usr/local/share/harness/wheels"
"""Where an image keeps the lists of its wheels."""

_EXTRAS = re.compile(r"^([A-Za-z0-9][\w.-]*)\s*\[[^\]]*\]", re.MULTILINE)
"""The extras of a pin, such as `[ws]` in `mcp[ws]==1.30.0`, behind the project's name."""

_DOCKERFILE = f"""ARG BASE
FROM ${{BASE}}
COPY site/ {_SITE}/
COPY lists/ {LISTS}/
RUN python3 -m compileall -q -j 0 {_SITE}
"""


def wheels_digest(requirements: str) -> str:
    """The SHA-256 digest of the requirements."""
    return hashlib.sha256(f"{PYTHON}\n{_DOCKERFILE}\n{requirements}".encode()).hexdigest()


def wheels_context(requirements: str, machine: str, cache: Path, progress: Progress) -> tuple[ContextFile, ...]:
    """The build context of a layer with the wheels; `machine` is the engine's, such as x86_64."""
    folder = cache / "wheels" / f"{wheels_digest(requirements)[:24]}-{machine}"
    if not folder.is_dir():
        progress(f"fetching the wheels of {requirements.count('==')} requirements")
        _fetch(requirements, machine, folder)
    names = sorted(path.name.removesuffix(".dist-info") for path in (folder / "site").glob("*.dist-info"))
    listed = "".join(f"python:{name.replace('-', '=', 1)}\n" for name in names)
    return (
        ContextFile(path="Dockerfile", executable=False, content=_DOCKERFILE.encode()),
        ContextFile(path=f"lists/{wheels_digest(requirements)[:12]}.txt", executable=False, content=listed.encode()),
        *read_files(folder),
    )


def _fetch(requirements: str, machine: str, folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = folder.parent / partial_name("fetching")
    try:
        temporary.mkdir()
        (temporary / "requirements.txt").write_text(requirements, encoding="utf-8")
        _install(temporary / "requirements.txt", temporary / "site", machine)
        (temporary / "requirements.txt").unlink()
        shutil.rmtree(temporary / "site" / "bin", ignore_errors=True)
        if not folder.is_dir():
            # the name is the digest of the content, and a folder of that name is not verified again
            flush_tree(temporary)
            temporary.rename(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _install(requirements: Path, site: Path, machine: str) -> None:
    # As constraints too: pip otherwise takes the newest release for a requirement with extras (`pydantic[email]>=2`),
    # and then refuses it, because that release has no hash. pip refuses a constraint that names extras itself.
    constraints = requirements.with_name("constraints.txt")
    constraints.write_text(_EXTRAS.sub(r"\1", requirements.read_text(encoding="utf-8")), encoding="utf-8")
    constrained = ("--constraint", str(constraints))
    run_pip(requirements, machine, "--require-hashes", *constrained, "--no-compile", "--target", str(site))
    constraints.unlink()
