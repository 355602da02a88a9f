"""An image's `requirements.in` locked into `requirements.txt`: names, versions and hashes, and no address."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from harness.disk import is_file
from harness.documents import write_atomically
from harness.errors import ImageError, UsageError
from harness.sandbox.images.bootstrap import PYTHON, Progress
from harness.sandbox.images.pip import run_pip

ASKED, LOCKED = "requirements.in", "requirements.txt"


def lock_requirements(project: Path, name: str, machine: str, progress: Progress) -> Path:
    """Writes the locked requirements of the image `name`, and returns their path.

    The hashes are those of the wheels for `machine`: another machine needs a lock of its own. Raises UsageError where
    nothing is required, ImageError where a requirement has no wheel or no index answers; an old lock is then kept.
    """
    folder = project / "images" / name
    asked = folder / ASKED
    if not is_file(asked):
        raise UsageError(
            f"{asked} is not there", remedy=f"write what the image needs into it, such as: echo kinto > {asked}"
        )
    progress(f"selecting the wheels for {asked}")
    with tempfile.TemporaryDirectory(prefix="harness-lock-") as scratch:
        report = Path(scratch) / "report.json"
        options = ("--dry-run", "--ignore-installed", "--target", scratch, "--report", str(report))
        run_pip(asked, machine, *options, progress=progress)
        lines = sorted(_lines(json.loads(report.read_text(encoding="utf-8")), asked))
    head = f"# Written by `harness image lock {name}` from {ASKED}: wheels for CPython {PYTHON} on {machine}.\n"
    write_atomically(folder / LOCKED, (head + "".join(lines)).encode())
    return folder / LOCKED


def _lines(report: Any, asked: Path) -> Iterator[str]:
    for item in report["install"]:
        named, archive = item["metadata"], item["download_info"].get("archive_info", {})
        digest = archive.get("hashes", {}).get("sha256")
        if digest is None:
            raise ImageError(
                f"{asked}: pip reports no hash of {named['name']}", remedy="require it by name and version"
            )
        yield f"{named['name'].lower()}=={named['version']} --hash=sha256:{digest}\n"
