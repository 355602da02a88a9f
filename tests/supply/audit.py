"""`make audit`: the pinned versions against the published advisories, by pip-audit in an environment of its own.

Exit status: 0 nothing known, 1 something known, 3 the advisories or pip-audit itself could not be had.
"""

import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

LOCK = Path(__file__).parents[2] / "requirements.lock"
_INSTALL_S, _ASK_S = 300, 600
FOUND, COULD_NOT = 1, 3
_HOW = ("--require-hashes", "--disable-pip", "--format", "json", "--progress-spinner", "off")


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="audit-") as folder:
        venv.create(folder, with_pip=True)
        install = [f"{folder}/bin/python", "-m", "pip", "install", "--quiet", "pip-audit"]
        if not _ran(install, _INSTALL_S):
            print("could not be determined: pip-audit cannot be installed, no package index answers", file=sys.stderr)
            return COULD_NOT
        return _asked([f"{folder}/bin/pip-audit", *_HOW, "-r", str(LOCK)])


def _asked(command: list[str]) -> int:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_ASK_S)
        status, lines = verdict(json.loads(done.stdout))
    except subprocess.TimeoutExpired:
        status, lines = COULD_NOT, [f"could not be determined: no answer about the advisories within {_ASK_S} s"]
    except ValueError:
        last = done.stderr.strip().splitlines()[-1:]
        status, lines = COULD_NOT, ["could not be determined: the advisories cannot be had", *last]
    print("\n".join(lines))
    return status


def verdict(report: Any) -> tuple[int, list[str]]:
    """The exit status, and what is to be said of pip-audit's report. What was not looked up is not clean."""
    found = [(one, hole) for one in report["dependencies"] for hole in one.get("vulns", ())]
    skipped = [one["name"] for one in report["dependencies"] if "skip_reason" in one]
    lines = [f"{one['name']} {one['version']}: {hole['id']}, fixed in {hole['fix_versions']}" for one, hole in found]
    asked = len(report["dependencies"]) - len(skipped)
    if skipped:
        lines.append(f"could not be determined of {len(skipped)} pins, among them {', '.join(sorted(skipped)[:3])}")
    lines.append(f"{len(found)} known vulnerabilities in {asked} pins that were looked up")
    return (FOUND if found else COULD_NOT if skipped or not asked else 0), lines


def _ran(command: list[str], within_s: float) -> bool:
    try:
        return subprocess.run(command, capture_output=True, timeout=within_s).returncode == 0
    except subprocess.TimeoutExpired:
        return False


if __name__ == "__main__":
    sys.exit(main())
