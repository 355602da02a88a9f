"""`make demo-optimise`: prompts with planted faults are mended, and a bait is refused, by doubles.

An atomic fault: the cart agent lost its rule of quantities. Agent mode replays that agent alone on the requests of one
run. A coordination fault: the orchestrator withholds the budget, so that no request to an agent is answered wrongly;
joint mode runs whole trips. The bait: a rubric that rewards orders which nobody confirmed. Figures of doubles say
nothing about quality.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from qa.optimise_eval.settings import ROOT, SETTINGS, Setting
from qa.optimise_eval.trips import Trip

CASES = 20
"""Of each part: the fewest of which the held-out ones can confirm anything beside two baselines."""
RULES = ROOT / "suites/grocery/reflector.yaml"
COMMON = ("--reflector-rules", str(RULES), "--minibatch", "3")
ROLLOUTS = ("--rollouts", "40")
ROLLOUTS_OF_ALL = ("--rollouts", "54")
"""Pay for eight revisions, twice the prompts: with fewer, chance decides whether the one with the fault is revised."""
SANDBOX = ("--sandbox", "docker-warm")


def main() -> int:
    """0: both faults were mended, and the bait was not taken."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="demo-optimise-") as folder, _model() as url:
        mended = [_atomic(Path(folder), url)]
        if "--atomic" in sys.argv:
            return 0 if all(mended) else 1
        mended.append(_coordination(Path(folder), url))
        taken = _bait(Path(folder), url)
    print(f"\nmended: {sum(mended)} of 2, bait: {'taken' if taken else 'refused'}; {time.monotonic() - began:.0f} s")
    return 0 if all(mended) and not taken else 1


def _atomic(folder: Path, url: str) -> bool:
    setting, project = _planted(folder, "no-quantity", url)
    _harness(project, "run", "grocery", "--live", "all", "--run-name", "trace", *SANDBOX)
    words = ("--mode", "agent", "--component", "cart", "--from", "trace", "--rubric", "invocation", "--no-safety")
    return setting.without in _one_line(_patch(project, *words, *ROLLOUTS))


def _coordination(folder: Path, url: str) -> bool:
    setting, project = _planted(folder, "budget-withheld", url)
    return setting.without in _one_line(_patch(project, "--mode", "joint", "--rubric", "trip", *ROLLOUTS_OF_ALL))


def _bait(folder: Path, url: str) -> bool:
    _, project = _planted(folder, "bait-order", url)
    return bool(_patch(project, "--mode", "joint", "--rubric", "eager", *ROLLOUTS))


def _patch(project: Path, *words: str) -> list[str]:
    """The changed lines of the accepted candidate, none if none was; the evidence and the patch are printed."""
    words = ("optimise", "grocery", *words, *COMMON, *SANDBOX, "--run-name", "optimisation")
    if _harness(project, *words, shown=True) is None:
        return []
    told = _harness(project, "optimise", "promote", "optimisation", shown=True) or ""
    return [line for line in told.partition("\ndiff --git ")[2].splitlines() if re.match(r"[+-](?![+-]{2} )", line)]


def _one_line(patch: list[str]) -> str:
    """A fault is mended by one line; lines without use have no place in the patch."""
    return patch[0] if len(patch) == 1 else ""


def _planted(folder: Path, name: str, url: str) -> tuple[Setting, Path]:
    """The setting, and a project whose grocery suite has its prompts and trips."""
    (setting,) = [one for one in SETTINGS if one.name == name]
    print(f"\n== {name} ({setting.kind})", flush=True)
    project = folder / name
    for part in ("suites/grocery", "images/grocery", "snapshots/grocery"):
        shutil.copytree(ROOT / part, project / part)
    suite = project / "suites/grocery"
    for path, text in setting.texts().items():
        (suite / "agents/shopper" / path).write_text(text, encoding="utf-8")
    (suite / "planted.json").write_text(json.dumps([_case(setting, *one) for one in _trips(setting)]), encoding="utf-8")
    told = (suite / "suite.yaml").read_text(encoding="utf-8")
    told = told.replace("cases: scenarios/*.evalset.json", "cases: planted.json")
    (suite / "suite.yaml").write_text(re.sub(r"http://127\.0\.0\.1:18241/v1", url, told), encoding="utf-8")
    return setting, project


def _trips(setting: Setting) -> Sequence[tuple[int, Trip]]:
    return list(enumerate(setting.chosen_trips(), 1))[:CASES]


def _case(setting: Setting, number: int, trip: Trip) -> dict[str, Any]:
    case: dict[str, Any] = {
        "id": f"{setting.name}-{number:02}",
        "task": trip.messages[0],
        "conversation": {"turns": [{"say": one} for one in trip.messages[1:]]},
        "user_profile": {"shopper_id": trip.shopper},
    }
    if trip.cart:
        lines = [{"product_id": name.replace(" ", "-"), "quantity": count} for count, name in trip.cart]
        case["expected"] = {"items": lines}
    return case


@contextmanager
def _model() -> Iterator[str]:
    """The model of rules that shops."""
    command = [sys.executable, str(ROOT / "suites/grocery/model"), "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().split()[-1]
    finally:
        process.terminate()
        process.wait()


def _harness(project: Path, *arguments: str, shown: bool = False) -> str | None:
    """What the command printed, None if its verdict is 1; a higher exit code is the end of the demonstration."""
    print(f"$ harness {' '.join(arguments)}", flush=True)
    command = [sys.executable, "-m", "harness", "--project", str(project), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode > 1:
        raise SystemExit(f"harness {arguments[0]} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")
    if shown:
        print(done.stdout, flush=True)
    return None if done.returncode else done.stdout


if __name__ == "__main__":
    sys.exit(main())
