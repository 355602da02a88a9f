"""`make bench`: every bench, one after the other, each figure a ratio within one run.

Machine, versions and date stand at the top. `--markdown FILE` writes what is promised as a table, and all that was
printed below it.
"""

import argparse
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from harness import __version__
from harness.sandbox.engine import connect

FOLDER = Path(__file__).parent
NOT_MET, COULD_NOT = 1, 3
PARTS: dict[str, list[str]] = {
    "one trial": ["-m", "qa.bench.overhead"],
    "one trial on Podman": ["-m", "qa.bench.podman"],
    "several at a time": ["-m", "qa.bench.throughput"],
    "a sweep": ["-m", "qa.bench.sweep"],
    "a sweep of the suite grocery": ["-m", "qa.bench.shopping"],
    "a sweep of an agent with an SDK": [
        "-m",
        "qa.bench.sweep",
        "--agent",
        "sdk",
        "--cases",
        "10",
        "--trials",
        "4",
    ],
    "snapshot files": ["-m", "qa.bench.seals"],
    "trials that wait for a live model": ["-m", "qa.bench.waiting"],
    "live conversations with simulated users": ["-m", "qa.bench.live"],
    "long runs": ["-m", "qa.bench.growth"],
    "large stored runs": ["-m", "qa.bench.large_runs"],
    "the web app": ["-m", "qa.bench.viewing"],
    "the command line": ["-m", "qa.bench.help"],
    "a short run": ["-m", "qa.bench.short_run"],
    "the gateway": [str(FOLDER / "gateway.py")],
    "cassettes": [str(FOLDER / "cassettes.py")],
    "the scorer": [str(FOLDER / "scoring.py")],
    "forks and causes": ["-m", "qa.bench.causes"],
    "importing a trace": [str(FOLDER / "importing.py")],
    "streams of models": ["-m", "qa.bench.model_streams"],
    "others": ["-m", "qa.bench.peers"],
}
_HELD = (
    re.compile(r"^\s*(?P<figure>\S.*?)\s{2,}(?P<value>[\d.]+)\s+(?P<kept>met|NOT MET) \((?P<bound>[^)]*)\)"),
    re.compile(r"^(?P<figure>\w+\s*/ \w+)\s+(?P<value>[\d.]+)\s+\(.*; (?P<bound>at most .*): (?P<kept>met|NOT MET)\)"),
)
"""How `figures.show` and `overhead` hold a figure against a promise."""


def main() -> int:
    """Exit status 1 where a promise is not kept, 3 where a bench could not be run."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--markdown", type=Path, metavar="FILE")
    options.add_argument("--only", choices=PARTS, action="append", metavar="PART", help=", ".join(PARTS))
    chosen = options.parse_args()
    head = machine()
    print("\n".join(head), flush=True)
    said: dict[str, list[str]] = {}
    statuses: dict[str, int] = {}
    for name in chosen.only or PARTS:
        print(f"\n{name}", flush=True)
        said[name], statuses[name] = run(PARTS[name])
    if chosen.markdown is not None:
        chosen.markdown.write_text(markdown(head, said), encoding="utf-8")
    status, problems = verdict(said, statuses)
    for problem in problems:
        print(problem, file=sys.stderr)
    return status


def verdict(said: Mapping[str, Sequence[str]], statuses: Mapping[str, int]) -> tuple[int, list[str]]:
    """The exit status, and what it is for: 3 where a part printed nothing or ended by itself with neither 0 nor 1.

    1 where a part ended with 1, or printed a promise that is not met.
    """
    broken = [name for name in said if statuses[name] not in (0, NOT_MET) or not said[name]]
    unmet = [row for row in held(said) if "**not met**" in row]
    silent = [name for name in said if statuses[name] == NOT_MET and not any(f"| {name}: " in row for row in unmet)]
    problems = [f"promise not met: {one}" for one in (*unmet, *silent)]
    problems += [f"could not be run: {name}" for name in broken]
    return (COULD_NOT if broken else NOT_MET if problems else 0), problems


def run(command: Sequence[str]) -> tuple[list[str], int]:
    """What a bench printed, line by line as it came, and its exit status."""
    lines = []
    with subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            print(line, end="", flush=True)
            lines.append(line.rstrip("\n"))
    return lines, process.returncode


def machine() -> list[str]:
    """Where and when this is."""
    client = connect()
    engine = client.info()
    client.close()
    cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text(encoding="utf-8"))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return [
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, harness {__version__}, Python {platform.python_version()}",
        f"{os.cpu_count()} processors ({cpu[1] if cpu else platform.machine()}), {memory:.0f} GB, "
        f"{platform.system()} {platform.release()}",
        f"Docker {engine['ServerVersion']}, {engine['Driver']}, cgroup v{engine.get('CgroupVersion', '1')}",
    ]


def markdown(head: Sequence[str], said: dict[str, list[str]]) -> str:
    """The promises as a table, and what every part printed."""
    rows = ["| | measured | promised | |", "|---|---|---|---|", *held(said)]
    blocks = [f"{name}\n\n```text\n" + "\n".join(lines) + "\n```\n" for name, lines in said.items()]
    return "\n".join([" · ".join(head), "", *rows, "", *blocks])


def held(said: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """The lines of all parts that hold a figure against a promise, as rows."""
    for name, lines in said.items():
        for line in lines:
            for found in filter(None, (shape.match(line) for shape in _HELD)):
                kept = "met" if found["kept"] == "met" else "**not met**"
                yield f"| {name}: {found['figure']} | {found['value']} | {found['bound']} | {kept} |"


if __name__ == "__main__":
    sys.exit(main())
