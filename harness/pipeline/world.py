"""The world that a run's trials begin from: images built, snapshot verified, services that can be opened."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from harness.case import Suite, looks_of, needs_browser
from harness.errors import UsageError
from harness.gateway import ServiceOpener
from harness.pipeline.plan import RunPlan
from harness.sandbox import (
    BROWSER_IMAGE,
    Environment,
    ImageStore,
    Snapshot,
    SnapshotStore,
    left_on_machine,
    load_environment,
    reap,
    remove_all,
    start_services,
)

Say = Callable[[str], None]


@dataclass(frozen=True, kw_only=True)
class RunSetup:
    """What is built before the first trial."""

    snapshot: Snapshot
    images: Mapping[str, str]
    """Image name -> tag: of the environment, of agents that bring their own, and of the services that are started."""
    packages_digest: str | None
    services: ServiceOpener | None
    runtime: str | None = None
    """OCI runtime of the sandboxes; None: the engine's default."""


@dataclass(frozen=True, kw_only=True)
class EnvironmentServices:
    """Opens the services of an environment, restored from a snapshot."""

    environment: Environment
    snapshot: Snapshot
    run: str
    images: ImageStore

    @contextmanager
    def open(self, trial_id: str) -> Iterator[Mapping[str, str]]:
        """All services of the environment, for one trial or for a whole run."""
        del trial_id
        with start_services(self.environment, self.snapshot, run=self.run, images=self.images) as running:
            yield running


def open_world(plan: RunPlan, run: str, say: Say) -> RunSetup:
    """Builds what is missing and verifies the snapshot.

    Raises SnapshotError naming a file that is not what the snapshot was built of, ImageError with the failing step.
    """
    suite = plan.suite
    environment = load_environment(plan.project, suite.environment) if suite.environment else None
    refuse_unaskable(suite, environment)
    if plan.sandbox == "local":
        _tell_reaped(remove_all(left_on_machine()), say)
        return _local_world(plan, environment)
    images = ImageStore(plan.project)
    _tell_reaped(reap(images.client), say)
    names = {environment.image if environment else "base", *_agent_images(plan)}
    names |= {BROWSER_IMAGE} if needs_browser(suite) else set()
    built = {name: images.build(name, say) for name in sorted(names)}
    snapshot = SnapshotStore(plan.project, images).load(suite.environment, suite.snapshot)
    services = None
    if environment is not None and environment.services and plan.tools != "replay":
        for service in environment.services:
            image = environment.image_of(service)
            built[image] = images.build(image, say)
            if environment.services[service].internet:
                say(f"service {service!r} can reach the internet (`internet: true`): its answers may depend on it")
        services = EnvironmentServices(environment=environment, snapshot=snapshot, run=run, images=images)
    refuse_pageless(suite, snapshot)
    main = built[environment.image if environment else "base"]
    return RunSetup(
        snapshot=snapshot,
        images={name: image.tag for name, image in built.items()},
        packages_digest=main.packages_digest,
        services=services,
        runtime=environment.runtime if environment else None,
    )


def _tell_reaped(removed: list[str], say: Say) -> None:
    for one in removed:
        say(f"removed what a dead run left: {one}")


@contextmanager
def open_services(project: Path, environment: str | None, snapshot: str | None) -> Iterator[Mapping[str, str]]:
    """The services of an environment for a moment, outside of any run."""
    if environment is None:
        raise UsageError("the suite names no environment, so it has no services")
    loaded, images = load_environment(project, environment), ImageStore(project)
    for service in loaded.services:
        images.build(loaded.image_of(service), lambda _: None)
    loaded_snapshot = SnapshotStore(project, images).load(environment, snapshot)
    services = EnvironmentServices(environment=loaded, snapshot=loaded_snapshot, run="tools", images=images)
    with services.open("tools") as running:
        yield running


def refuse_unaskable(suite: Suite, environment: Environment | None) -> None:
    """Raises UsageError for a probe of a database that no service of the environment has."""
    for probe in (*suite.probes, *(probe for case in suite.cases for probe in case.probes)):
        name = None if probe.sql is None else probe.sql.service
        if name is None or environment is None:
            continue
        place = f"suite {suite.name!r}, probe {probe.name!r}, field 'sql.service'"
        if name not in environment.services:
            known = ", ".join(environment.services) or "none"
            raise UsageError(f"{place}: the environment has no service {name!r}", remedy=f"it has: {known}")
        if environment.services[name].database is None:
            raise UsageError(
                f"{place}: service {name!r} does not say how its database is asked",
                remedy="declare `database: {postgresql: NAME}` or `{sqlite: /path}` in environment.yaml",
            )


def _local_world(plan: RunPlan, environment: Environment | None) -> RunSetup:
    if needs_browser(plan.suite):
        raise UsageError("the suite needs a browser, which is a container", remedy="use --sandbox docker")
    if environment is not None and environment.services and plan.tools in ("sealed", "record", "live"):
        raise UsageError(
            f"--tools {plan.tools} needs the environment's services, which are containers",
            remedy="use --sandbox docker, or --tools replay",
        )
    snapshot = SnapshotStore(plan.project, None).load(plan.suite.environment, plan.suite.snapshot)
    return RunSetup(snapshot=snapshot, images={}, packages_digest=None, services=None)


def refuse_pageless(suite: Suite, snapshot: Snapshot) -> None:
    """Raises UsageError where a check looks at the snapshot's known address, and it has none."""
    for case in suite.cases:
        for look in looks_of(suite, case):
            if look.browser == "fresh" and look.url is None and snapshot.browser_url is None:
                raise UsageError(
                    f"suite {suite.name!r}, case {case.id!r}, check {look.name!r}: there is no page to look at",
                    remedy="give it `with.url`, or declare a `browser_url` in the state of the environment",
                )


def _agent_images(plan: RunPlan) -> set[str]:
    version = plan.suite.agents.get(plan.agent or plan.suite.default_agent)
    return {version.image} if version is not None and version.image is not None else set()


def pins(plan: RunPlan, world: RunSetup) -> dict[str, str]:
    """What is pinned for the agent, for the manifest."""
    pinned = {"TZ": "UTC", "LANG": "C.UTF-8", "PYTHONHASHSEED": "0"}
    if world.runtime is not None:
        pinned["runtime"] = world.runtime
    clocks = {case.clock for case in plan.suite.cases if case.clock is not None}
    return {**pinned, "clock": ", ".join(sorted(clocks))} if clocks else pinned
