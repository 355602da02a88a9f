"""Escapes: every try in every sealed sandbox, in a random order; without its control a row is void."""

import json
import random
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

import docker
from docker.models.containers import Container

from harness.sandbox.engine import connect
from harness.sandbox.images.store import ImageStore
from harness.sandbox.provider import Sandbox, SandboxProvider, SandboxSpec
from harness.sandbox.providers import PROVIDERS, open_provider
from harness.suite.cases import Limits
from qa.soak.rows import Row
from tests.sandbox.escape import databases, descriptors, flood, pairs, reading, services
from tests.sandbox.escape.captures import CAPTURES, left_by_an_agent
from tests.sandbox.escape.sealed import sealed_folder
from tests.sandbox.escape.test_escape import LACKING, NAMES, PROGRAMS
from tests.sandbox.escape.weak import FOLDER, tried_in, weak_container
from tests.sandbox.escape.world import World, outside_world

TIMES = 3
"""How often each try is made at scale 1."""
_PROJECT = Path(__file__).parents[2]
_LIMITS = Limits(memory_mb=128, processes=64, disk_mb=16)


@dataclass(frozen=True)
class Ground:
    """What all tries share."""

    image: str
    world: World
    weak: Container
    folder: Path

    def fresh(self) -> Path:
        return Path(tempfile.mkdtemp(dir=self.folder))


def rows(random: random.Random, scale: float) -> Iterator[Row]:
    times = max(1, round(TIMES * scale))
    with ExitStack() as stack:
        client = stack.enter_context(closing(connect()))
        ground = _ground(stack, client)
        controls = dict(_controls(ground))
        for name in (name for name in PROVIDERS if name != "local"):
            provider = open_provider(name, run="escape")
            stack.callback(provider.close)
            for group, control in controls.items():
                yield _row(f"escape from {name}: {group}", _TRIES[group](provider, ground), control, times, random)
            yield _captures(provider, ground, times, random)
        alone = [] if services.machine_reached(client, ground.image, guarded=False) else ["the machine's ports"]
        tries = {"the machine's ports": lambda: services.machine_reached(client, ground.image, guarded=True)}
        yield _row("escape from a service", tries, alone, times, random)


def _ground(stack: ExitStack, client: docker.DockerClient) -> Ground:
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
    image = ImageStore(_PROJECT, client).build("base").tag
    world = stack.enter_context(outside_world(folder))
    return Ground(image, world, stack.enter_context(weak_container(client, image, PROGRAMS, folder)), folder)


def _row(
    what: str, tries: dict[str, Callable[[], bool]], failed_controls: list[str], times: int, random: random.Random
) -> Row:
    """`tries` tell whether they got out."""
    order = [name for name in tries for _ in range(times)]
    random.shuffle(order)
    out = [name for name in order if tries[name]()]
    said = f"got out: {', '.join(sorted(set(out)))}" if out else f"{len(tries)} kinds"
    said = f"no control: {', '.join(failed_controls)}" if failed_controls else said
    return Row(what=what, tries=len(order), survived=len(order) - len(out), said=said, void=bool(failed_controls))


def _controls(ground: Ground) -> Iterator[tuple[str, list[str]]]:
    """Group of tries -> those that do not succeed even where they must."""
    for group in dict.fromkeys(NAMES.values()):
        yield group, [name for name, about in NAMES.items() if about == group and not _weakly(ground, name)]
    yield "read-back", [trick for trick in reading.TRICKS if reading.deceived_naively(trick, ground.fresh()) is None]
    found = [name for name in pairs.REMAINS if pairs.found_in_one_container(ground.weak, FOLDER, name)]
    alone = [name for name in pairs.REMAINS if name not in found]
    yield "another trial, at once", alone
    yield "another trial, the next", alone
    flooded = flood.output_held_naively(ground.weak) > flood.OUTPUT_MAX
    watched = flood.same_user_can_still_watch(ground.weak)
    passed = descriptors.descriptors_held_naively(ground.weak, ground.world.door.parent) > descriptors.HELD_MAX
    unharmed = [harm for harm in databases.HARMS if databases.harmed_trustingly(harm, ground.fresh()) is None]
    yield "databases that an agent wrote", unharmed
    kinds = {"stdout": flooded, "inotify": not watched, "descriptors": passed}
    yield "floods", [kind for kind, done in kinds.items() if not done]


def _weakly(ground: Ground, name: str) -> bool:
    tried = json.loads(tried_in(ground.weak, ground.world.told("/tmp"), name))
    return bool(tried["escaped"]) or any(word in tried["what"] for word in LACKING)


def _by_group(group: str) -> Callable[[SandboxProvider, Ground], dict[str, Callable[[], bool]]]:
    def tries(provider: SandboxProvider, ground: Ground) -> dict[str, Callable[[], bool]]:
        names = [name for name, about in NAMES.items() if about == group]
        return {name: lambda name=name: _escapes(provider, ground, name) for name in names}

    return tries


def _escapes(provider: SandboxProvider, ground: Ground, name: str) -> bool:
    spec = SandboxSpec(trial_id="escape", limits=_LIMITS, agent_files=PROGRAMS)
    with closing(provider.start(spec, sealed_folder(ground.image))) as sandbox:
        return _tried(sandbox, ground.world, name)


def _tried(sandbox: Sandbox, world: World, name: str) -> bool:
    ended = sandbox.exec(["python3", f"{sandbox.places.agent}/tries", world.told("/work"), name], {}, 60)
    as_good_as_before = sandbox.exec(["true"], {}, 60).code == 0
    return not as_good_as_before or (ended.signal is None and json.loads(ended.stdout)["escaped"])


def _read_back(provider: SandboxProvider, ground: Ground) -> dict[str, Callable[[], bool]]:
    def tried(trick: str) -> bool:
        return reading.deceived(provider, ground.image, trick, ground.fresh()) is not None

    return {trick: lambda trick=trick: tried(trick) for trick in reading.TRICKS}


def _pairs(at_once: bool) -> Callable[[SandboxProvider, Ground], dict[str, Callable[[], bool]]]:
    def tries(provider: SandboxProvider, ground: Ground) -> dict[str, Callable[[], bool]]:
        return {
            name: lambda name=name: pairs.found_by_another(provider, ground.image, name, at_once=at_once)
            for name in pairs.REMAINS
        }

    return tries


def _databases(provider: SandboxProvider, ground: Ground) -> dict[str, Callable[[], bool]]:
    def tried(harm: str) -> bool:
        return databases.harmed(provider, ground.image, harm, ground.fresh()) is not None

    return {harm: lambda harm=harm: tried(harm) for harm in databases.HARMS}


def _captures(provider: SandboxProvider, ground: Ground, times: int, random: random.Random) -> Row:
    """Its control is tried in the very sandboxes."""
    left = left_by_an_agent(provider, ground.image, ground.fresh())
    alone = [capture for capture in CAPTURES if not left.captured_carelessly(capture)]
    tries = {capture: lambda capture=capture: left.captured(capture) for capture in CAPTURES}
    return _row(f"escape from {provider.name}: code left for a check's command", tries, alone, times, random)


def _floods(provider: SandboxProvider, ground: Ground) -> dict[str, Callable[[], bool]]:
    return {
        "stdout": lambda: flood.output_held(provider, ground.image) > flood.OUTPUT_MAX,
        "inotify": lambda: not flood.host_can_still_watch(provider, ground.image),
        "descriptors": lambda: descriptors.descriptors_held(provider, ground.image) > descriptors.HELD_MAX,
    }


_TRIES: dict[str, Callable[[SandboxProvider, Ground], dict[str, Callable[[], bool]]]] = {
    **{group: _by_group(group) for group in dict.fromkeys(NAMES.values())},
    "read-back": _read_back,
    "another trial, at once": _pairs(at_once=True),
    "another trial, the next": _pairs(at_once=False),
    "databases that an agent wrote": _databases,
    "floods": _floods,
}
