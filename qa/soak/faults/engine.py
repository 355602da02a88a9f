"""A container engine that goes away, or loses what a run needs, in the middle of it: an engine of one's own."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess

from docker.errors import APIError

from harness.sandbox.engine import connect
from harness.sandbox.images.store import ImageStore
from qa.soak.faults.place import UNDISTURBED, Place
from qa.soak.faults.project import CASES
from qa.soak.rows import Row
from qa.soak.second_engine import SecondEngine, second_engine

_TRIALS_WITHIN_S = 200
_GONE_WITHIN_S = 30
_SEALED = ("docker", "docker-warm")
_ONCE = 48
"""Trials around what happens once."""


@dataclass(frozen=True, kw_only=True)
class Disturbance:
    """What happens to the engine in the middle of a run, and what has to come of the run."""

    what: str
    happens: Callable[[SecondEngine], None]
    status: int = 0
    says: str = ""
    finishes: bool = True
    """False: what is missing is run by `--resume`, when everything is as it was before."""
    every: int | None = None
    """Again after so many trials; None: once, and few trials say as much as many."""


def kill_and_start(engine: SecondEngine) -> None:
    engine.kill()
    engine.start()


def stop_and_start(engine: SecondEngine) -> None:
    engine.stop()
    engine.start()


def kill_containers(engine: SecondEngine) -> None:
    """The first process of each: the launcher of a trial, or the supervisor of a warm container."""
    until, killed = time.monotonic() + _TRIALS_WITHIN_S, 0
    with engine.client() as client:
        while not killed and time.monotonic() < until:
            for container in client.containers.list(ignore_removed=True):
                with suppress(APIError):  # one that has just ended by itself
                    container.kill()
                    killed += 1


def lose_image(engine: SecondEngine) -> None:
    """By its names, as somebody does who tidies up; containers go on with what they have of it."""
    with engine.client() as client:
        for tag in [tag for image in client.images.list() for tag in image.tags]:
            client.images.remove(tag, force=True)
        for container in client.containers.list(all=True, ignore_removed=True):
            with suppress(APIError):  # one that removes itself
                container.remove(force=True)


DISTURBANCES = (
    Disturbance(what="every container killed, supervisors too", happens=kill_containers, every=50),
    Disturbance(what="engine stopped and started again", happens=stop_and_start),
    Disturbance(what="engine killed and started again", happens=kill_and_start),
    Disturbance(
        what="image removed; then it is there again, and --resume",
        happens=lose_image,
        status=3,
        says="harness image build",
        finishes=False,
    ),
)


def rows(place: Place, trials: int, disturbances: tuple[Disturbance, ...] = DISTURBANCES) -> Iterator[Row]:
    """Each disturbance once for each provider of containers, in the middle of so many trials."""
    client = connect()
    tag = ImageStore(place.folder, client).build("base").tag
    client.close()
    with second_engine(tag) as engine:
        for disturbance in disturbances:
            for provider in _SEALED:
                many = trials if disturbance.every else min(trials, _ONCE)
                yield _row(place, engine, disturbance, provider, many // CASES, tag)
                place.clean()


def _row(place: Place, engine: SecondEngine, disturbance: Disturbance, provider: str, attempts: int, tag: str) -> Row:
    before, standing = place.kept(), _standing(engine)
    words = f"HARNESS run SUITE --sandbox {provider} --trials {attempts} --jobs 2 --run-name it"
    done = _disturbed(place, engine, disturbance, words, attempts * CASES)
    shown = done.stdout + done.stderr
    problems = [] if done.returncode == disturbance.status else [f"status {done.returncode}"]
    problems += [] if disturbance.says in shown else [f"does not say {disturbance.says!r}"]
    problems += ["a traceback"] if "Traceback" in shown else []
    if not disturbance.finishes:
        engine.load(tag)
        resumed = place.typed("HARNESS run --resume it", {"DOCKER_HOST": engine.host})
        problems += [] if resumed.returncode == 0 else [f"resumed with status {resumed.returncode}"]
    problems += _reasons(place)
    lost = attempts * CASES - _right(place)
    retried = len(list((place.folder / "runs" / "it").glob("trials/*/*.failed-1")))
    row = place.row(f"{provider}: {disturbance.what}", not problems, before)
    return Row(
        what=row.what,
        tries=attempts * CASES,
        survived=0 if problems else attempts * CASES,
        lost=row.lost + lost,
        left=row.left + len(_left(engine, standing)),
        said=f"{retried} trials tried again" + (f"; {', '.join(problems)}: {shown[-700:]}" if problems else ""),
    )


def _disturbed(
    place: Place, engine: SecondEngine, disturbance: Disturbance, words: str, trials: int
) -> CompletedProcess[str]:
    ended: list[CompletedProcess[str]] = []
    running = threading.Thread(target=lambda: ended.append(place.typed(words, {"DOCKER_HOST": engine.host})))
    running.start()
    try:
        every = disturbance.every or trials
        for after in range(min(every, trials) // 3, trials - 2, every):
            _wait_for(after, place.folder / "runs" / "it", running)
            disturbance.happens(engine)
    finally:
        running.join()
    return ended[0]


def _wait_for(trials: int, run: Path, running: threading.Thread) -> None:
    """Until so many are done, or the run has ended."""
    until = time.monotonic() + _TRIALS_WITHIN_S
    while running.is_alive() and len(list(run.glob("trials/*/*/trial.json"))) < trials:
        assert time.monotonic() < until, "no trial ends"
        time.sleep(0.02)


def _right(place: Place) -> int:
    """Trials whose scorecard is that of the undisturbed run, but for the number of the attempt."""
    expected = {path.split("/")[0]: card for path, card in place.scorecards(UNDISTURBED).items()}
    return sum(
        card.replace(_attempt(path.split("/")[1]), _attempt("1"), 1) == expected[path.split("/")[0]]
        for path, card in place.scorecards("it").items()
    )


def _reasons(place: Place) -> list[str]:
    """Why the harness could not do what it could not do at the second try either."""
    trials = [
        json.loads(path.read_bytes()) for path in (place.folder / "runs" / "it").glob("trials/*/[0-9]/trial.json")
    ]
    return sorted({trial["reason"] for trial in trials if trial["outcome"] == "harness_failed"})


def _attempt(number: str) -> bytes:
    return f'"attempt": {number},'.encode()


def _standing(engine: SecondEngine) -> frozenset[str]:
    with engine.client() as client:
        found = {f"container {one.id}" for one in client.containers.list(all=True, ignore_removed=True)}
        found |= {f"network {one.name}" for one in client.networks.list()}
        return frozenset(found | {f"volume {one.name}" for one in client.volumes.list()})


def _left(engine: SecondEngine, standing: frozenset[str]) -> frozenset[str]:
    """Containers that have just ended take a moment to be removed."""
    until = time.monotonic() + _GONE_WITHIN_S
    while (left := _standing(engine) - standing) and time.monotonic() < until:
        time.sleep(0.2)
    return left
