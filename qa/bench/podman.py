"""A trial on Podman beside one on Docker: `make bench`. Both engines in turn, round by round, in one run.

    true    the engine's API, create + start + wait + remove with `network none`, the program `true`
    plain   the same cycle with our sandbox's options and the agent's program
    trial   a whole replayed trial of that agent, as in `one trial`
    warm    the same in a warm sandbox (--sandbox docker-warm)

Podman is a second engine in namespaces of its own, rootful, with runc. Needs root, and Podman (`make engines`): where
one is missing, the row says so.
"""

import argparse
import os
import shutil
import statistics
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from harness.sandbox.engine import connect
from harness.sandbox.images.store import ImageStore
from qa.bench.overhead import machine, measure, prepare
from qa.soak.second_engine import PodmanEngine, second_engine

_ENGINES: Final = ("docker", "podman")
_SUBJECTS: Final = ("true", "plain", "trial", "warm")
_RATIOS: Final = (("trial", "plain"), ("trial", "true"), ("warm", "true"))


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=10)
    rounds = max(2, options.parse_args().rounds)
    missing = "root" if os.getuid() != 0 else "Podman" if shutil.which("podman") is None else None
    if missing is not None:
        remedy = "run it as root" if missing == "root" else "make engines (as root, on Debian)"
        print(f"  a trial on Podman   not measured: {missing} is missing here: {remedy}")
        return
    with ExitStack() as stack:
        subjects = _named("docker", prepare(stack))
        with second_engine(_base(), kind=PodmanEngine) as podman:
            inner = stack.enter_context(ExitStack())
            with _engine_at(podman.host):
                subjects |= _named("podman", prepare(inner))
                print(machine())
            figures = measure(subjects, rounds)
            inner.close()
    _show(figures, rounds)


def _base() -> str:
    with TemporaryDirectory(prefix="harness-bench-") as folder:
        client = connect()
        try:
            return ImageStore(Path(folder), client).build("base", lambda _: None).tag
        finally:
            client.close()


@contextmanager
def _engine_at(host: str) -> Iterator[None]:
    before = os.environ.get("DOCKER_HOST")
    os.environ["DOCKER_HOST"] = host
    try:
        yield
    finally:
        if before is None:
            del os.environ["DOCKER_HOST"]
        else:
            os.environ["DOCKER_HOST"] = before


def _named(engine: str, subjects: dict[str, Callable[[int], float | None]]) -> dict[str, Callable[[int], float | None]]:
    return {f"{engine} {name}": subjects[name] for name in _SUBJECTS}


def _show(figures: dict[str, list[float]], rounds: int) -> None:
    """Medians with their quarters, and what the harness adds on each engine."""
    print(f"{machine()}; {rounds} rounds")
    medians = {name: statistics.median(seconds) for name, seconds in figures.items()}
    for name, seconds in figures.items():
        low, _, high = (1000 * quarter for quarter in statistics.quantiles(seconds, n=4))
        print(f"  {name:13} p50 {medians[name] * 1000:7.1f} ms   p25 {low:.1f}, p75 {high:.1f}")
    for name, base in _RATIOS:
        ratios = [f"{engine} {medians[f'{engine} {name}'] / medians[f'{engine} {base}']:.3f}" for engine in _ENGINES]
        print(f"  {name} / {base:6} {', '.join(ratios)}")


if __name__ == "__main__":
    main()
