"""Docker 26.1 beside the machine's own engine: fetched from Debian's next release, unpacked, not installed.

`python -m tests.sandbox.engines.docker_26` does it (`make engines`). The address of the archive is the machine's own:
its source list with another name of the release. Debian's `runc` of that release needs a newer C library than this
machine may have, so the machine's own is used.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

RELEASE = "trixie"
PACKAGES = ("docker.io", "containerd")
SOURCES = Path("/etc/apt/sources.list.d/debian.sources")


def folder() -> Path:
    """Where the engine is, whether or not it has been fetched."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "harness" / "engines" / "docker-26"


def programs() -> Path | None:
    """The folder of its programs; None where it has not been fetched."""
    found = folder() / "bin"
    return found if (found / "dockerd").is_file() else None


def fetch() -> None:
    """Raises OSError or CalledProcessError where the packages cannot be had."""
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        place.chmod(0o755)  # apt fetches as a user of its own
        (place / "lists" / "partial").mkdir(parents=True)
        (place / "debian.sources").write_text(_sources(SOURCES.read_text(encoding="utf-8")), encoding="utf-8")
        own = {"sourcelist": place / "debian.sources", "sourceparts": "-"}
        apt = ["apt-get", "--quiet", *(f"--option=Dir::Etc::{name}={path}" for name, path in own.items())]
        apt.append(f"--option=Dir::State::lists={place / 'lists'}")
        subprocess.run([*apt, "update"], check=True)
        subprocess.run([*apt, "download", *PACKAGES], check=True, cwd=place)
        for package in place.glob("*.deb"):
            subprocess.run(["dpkg-deb", "--extract", package, place / "tree"], check=True)
        bin_folder = folder() / "bin"
        shutil.rmtree(folder(), ignore_errors=True)
        bin_folder.mkdir(parents=True)
        for source in ("usr/bin", "usr/sbin"):
            for program in (place / "tree" / source).iterdir():
                if not program.is_symlink():  # `docker-init` leads to a package that sandboxes do not need
                    shutil.copy2(program, bin_folder / program.name)


def _sources(said: str) -> str:
    """The first part of a source list in the form of deb822, for another release."""
    first = next(part for part in said.split("\n\n") if "URIs:" in part)
    return re.sub(r"^Suites:.*$", f"Suites: {RELEASE}", first, flags=re.MULTILINE) + "\n"


if __name__ == "__main__":
    if programs() is None:
        fetch()
    sys.stdout.write(f"{programs()}\n")
