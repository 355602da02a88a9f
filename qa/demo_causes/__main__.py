"""The demonstration of causes: a failed trial, the step that caused it, the fork that succeeds.

    python -m qa.demo_causes

Every line that begins with `$` is a command that a user can type.
"""

import shlex
import subprocess
import sys
import time
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
HARNESS = (sys.executable, "-m", "harness", "--project", str(PROJECT))
CASE = "order-correctness-003"
VERDICT = 1


def typed(*words: str, quiet: bool = False) -> str:
    """Runs one command as a user would and gives what it printed; ends the demonstration where the harness fails."""
    print(f"\n$ harness {shlex.join(words)}", flush=True)
    done = subprocess.run((*HARNESS, *words), capture_output=True, text=True, cwd=PROJECT)
    if done.returncode not in (0, VERDICT):
        sys.exit(f"{done.stdout}{done.stderr}")
    if not quiet:
        print(done.stdout, end="", flush=True)
    return done.stdout


def main() -> None:
    began = time.monotonic()
    run = f"demo-causes-{int(time.time())}"
    typed("run", "drive_thru", "--agent", "v1", "--case", CASE, "--sandbox", "local", "--run-name", run, quiet=True)
    blamed = typed("blame", run, CASE, "--sandbox", "docker-warm", "--reference-only")
    fork = next((word for word in blamed.split() if word.startswith(".variants/")), None)
    if fork is None:
        sys.exit("no single step was found to be the cause")
    typed("explain", fork, CASE, "--width", "80")
    print(f"\n{time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
