"""`make demo-online`: from production to a case, in under two minutes.

A receiver takes 300 sessions of two releases from the exporter of the OpenTelemetry SDK. They are scored by the suite
that also runs offline; the report shows the shift between the releases, themes name its cause, the largest one becomes
an issue, and one failing session becomes a minimal case, which fails with the release and passes with the mended agent.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
SUITE = "helpdesk"


def main() -> int:
    """0: everything came out as it should."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="demo-online-") as temporary:
        project = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(temporary) / "project"
        shutil.copytree(HERE / "project", project)
        with _receiver(project) as url:
            print("\n# production: 300 sessions of two releases")
            subprocess.run([sys.executable, str(HERE / "production.py"), url, str(project)], check=True)
            print("\n# scored by the suite that also runs offline")
            print(_harness(project, "online", "score", SUITE).strip())
        right = _shift(project)
        right &= _case(project, _theme(project))
    print(f"\n{'as it should be' if right else 'NOT AS IT SHOULD BE'}, in {time.monotonic() - began:.0f} s")
    return 0 if right else 1


def _shift(project: Path) -> bool:
    """Whether the second release fails more often, beyond the intervals."""
    print("\n# the shift: sessions in which the check failed, by release")
    report = json.loads(_harness(project, "online", "report", SUITE, "--json"))
    rates = {one["group"]: one for one in report["rates"] if one["signal"] == "check:order_state"}
    for release in ("r1", "r2"):
        one = rates[f"release={release}"]
        low, high = one["interval"]["low"], one["interval"]["high"]
        print(f"  {release}: {one['share']:.1%} ({low:.1%} to {high:.1%}) of {one['sessions']} sessions")
    return bool(rates["release=r1"]["interval"]["high"] < rates["release=r2"]["interval"]["low"])


def _theme(project: Path) -> dict[str, Any]:
    """The theme with the largest impact, filed as an issue."""
    print("\n# the themes")
    print(_harness(project, "themes").rstrip())
    theme: dict[str, Any] = json.loads(_harness(project, "themes", "--json"))["themes"][0]
    print("\n# an issue for the first")
    print(_harness(project, "themes", "file", "--tracker", "folder", "--theme", theme["id"]).rstrip())
    return theme


def _case(project: Path, theme: dict[str, Any]) -> bool:
    """Whether a session of the theme is a case that fails, and passes with the mended agent."""
    print("\n# a failing session becomes a case")
    session = next(key for key in theme["members"] if int(key[-3:]) % 3)  # of a user who says one thing
    print(_harness(project, "case", "from-trace", "--session", session).rstrip())
    case = next(one for one in (project / "cassettes" / SUITE).glob("prod-regression-*.yaml")).stem
    successes = [_runs(project, case, agent) for agent in ("r2", "fixed")]
    linked = json.loads(_harness(project, "themes", "--theme", theme["id"], "--json"))
    print(f"  theme {theme['id']} now names case {', '.join(linked['cases'])} and issue {linked['issue']}")
    return successes == [False, True] and linked["cases"] == [case] and bool(linked["issue"])


def _runs(project: Path, case: str, agent: str) -> bool | None:
    words = ("run", SUITE, "--case", case, "--agent", agent, "--sandbox", "local", "--run-name", agent, "--json")
    _harness(project, *words)
    path = project / "runs" / agent / "trials" / case / "1" / "scorecard.json"
    card: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    print(f"  {agent}: {'passes' if card['success'] else 'fails' if card['success'] is False else card['outcome']}")
    success: bool | None = card["success"]
    return success


@contextmanager
def _receiver(project: Path) -> Iterator[str]:
    command = [sys.executable, "-m", "harness", "--project", str(project), "ingest", "serve", "--port", "0", "--json"]
    print(f"$ {' '.join(['harness', *command[5:]])}")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield str(json.loads(process.stdout.readline())["url"])
    finally:
        process.terminate()
        process.wait(30)
        process.stdout.close()


def _harness(project: Path, *arguments: str) -> str:
    """Runs the command; 1 is a verdict, more is an end of the demonstration."""
    print(f"$ harness {' '.join(arguments)}", flush=True)
    command = [sys.executable, "-m", "harness", "--project", str(project), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode > 1:
        raise SystemExit(f"harness {' '.join(arguments)} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
