"""`make audit`: the pinned versions against the published advisories, by pip-audit in an environment of its own.

Exit status: 0 nothing known, 1 something known, 3 the advisories or pip-audit itself could not be had.
"""

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

LOCK = Path(__file__).parents[2] / "requirements.lock"
_INSTALL_S, _ASK_S = 300, 600
_COULD_NOT = 3
_UNREACHABLE = (
    "ConnectionError",
    "Max retries exceeded",
    "NameResolutionError",
    "Timeout",
    "ServiceError",
    "HTTPError",
)


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="audit-") as folder:
        venv.create(folder, with_pip=True)
        install = [
            f"{folder}/bin/python",
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "pip-audit",
        ]
        if not _ran(install, _INSTALL_S):
            print("could not be told: pip-audit cannot be installed, no package index answers", file=sys.stderr)
            return _COULD_NOT
        ask = [f"{folder}/bin/pip-audit", "--require-hashes", "--disable-pip", "--progress-spinner", "off", "-r", LOCK]
        return _asked(ask)


def _asked(command: list[str | Path]) -> int:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_ASK_S)
    except subprocess.TimeoutExpired:
        print(f"could not be told: no answer about the advisories within {_ASK_S} s", file=sys.stderr)
        return _COULD_NOT
    print(done.stdout, end="")
    if done.returncode == 0:
        print("no known vulnerability in what is pinned")
        return 0
    print(done.stderr, end="", file=sys.stderr)
    if any(word in done.stderr for word in _UNREACHABLE) or not done.stdout.strip():
        print("could not be told: the advisories cannot be had", file=sys.stderr)
        return _COULD_NOT
    return 1


def _ran(command: list[str], within_s: float) -> bool:
    try:
        return subprocess.run(command, capture_output=True, timeout=within_s).returncode == 0
    except subprocess.TimeoutExpired:
        return False


if __name__ == "__main__":
    sys.exit(main())
