"""The initial environment of a run's trials: images, a verified snapshot, and services."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from harness.case import Case, Suite, looks_of
from harness.errors import SnapshotError, UsageError
from harness.gateway import ServiceOpener
from harness.pipeline.plan.needs import Needs
from harness.pipeline.plan.plan import RunPlan
from harness.sandbox import Environment, Snapshot, SnapshotStore, left_on_machine, load_environment, remove_all
from harness.values import JsonValue, digest_of

if TYPE_CHECKING:  # a sandbox without containers does without
    from harness.sandbox import ImageStore, PreparedTask

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
    tasks: Mapping[str, "PreparedTask"] = field(default_factory=dict)
    """The sandboxes of cases that are task folders, by their ids."""
    snapshots: Mapping[str, Snapshot] = field(default_factory=dict)
    """Snapshots that cases of the suite name, by their names."""

    def snapshot_of(self, case: Case) -> Snapshot:
        """What trials of a case that is not a task folder start from."""
        return self.snapshot if case.snapshot is None else self.snapshots[case.snapshot]

    @property
    def snapshot_digest(self) -> str:
        """The digest of the trials' initial state."""
        parts: dict[str, JsonValue] = {}
        if self.tasks:
            parts["tasks"] = {case_id: task.tests.digest for case_id, task in self.tasks.items()}
        if self.snapshots:
            parts["cases"] = {name: snapshot.digest for name, snapshot in self.snapshots.items()}
        return digest_of({"snapshot": self.snapshot.digest, **parts}) if parts else self.snapshot.digest


@dataclass(frozen=True, kw_only=True)
class EnvironmentServices:
    """Opens the services of an environment, restored from a snapshot."""

    environment: Environment
    snapshot: Snapshot
    run: str
    images: "ImageStore"
    snapshots: Mapping[str, Snapshot] = field(default_factory=dict)
    """Snapshots that cases name, by their names."""

    @contextmanager
    def open(self, trial_id: str, snapshot: str | None = None) -> Iterator[Mapping[str, str]]:
        """All services of the environment, for one trial or for a whole run."""
        from harness.sandbox import start_services

        del trial_id
        begins_with = self.snapshot if snapshot is None else self.snapshots[snapshot]
        with start_services(self.environment, begins_with, run=self.run, images=self.images) as running:
            yield running


def open_world(needs: Needs, run: str, say: Say) -> RunSetup:
    """Builds what is missing and verifies the snapshot. The needs were checked by `refuse_unmet`.

    Raises SnapshotError naming the case and a file that is not what the snapshot was built of, ImageError with the
    failing step.
    """
    plan, suite, environment = needs.plan, needs.plan.suite, needs.environment
    if not needs.containers:
        _tell_reaped(remove_all(left_on_machine()), say)
        store = SnapshotStore(plan.project, None)
        snapshot, own = store.load(suite.environment, suite.snapshot), _case_snapshots(plan, store, say)
        return RunSetup(snapshot=snapshot, images={}, packages_digest=None, services=None, snapshots=own)
    from harness.sandbox import ImageStore, prepare_task, reap

    images = ImageStore(plan.project)
    _tell_reaped(reap(images.client), say)
    built = {name: images.build(name, say) for name in sorted(needs.images)}
    store = SnapshotStore(plan.project, images)
    snapshot, own = store.load(suite.environment, suite.snapshot), _case_snapshots(plan, store, say)
    services = None
    if environment is not None and needs.services:
        for service, image in needs.services.items():
            built[image] = images.build(image, say)
            if environment.services[service].internet:
                say(f"service {service!r} can reach the internet (`internet: true`): its answers may depend on it")
        services = EnvironmentServices(
            environment=environment, snapshot=snapshot, run=run, images=images, snapshots=own
        )
    _refuse_pageless(suite, snapshot, own)
    return RunSetup(
        snapshot=snapshot,
        snapshots=own,
        images={name: image.tag for name, image in built.items()},
        packages_digest=built[needs.image].packages_digest,
        services=services,
        runtime=environment.runtime if environment else None,
        tasks={
            case.id: prepare_task(plan.project, suite.folder, case, case.task_folder, images, say)
            for case in needs.tasks
            if case.task_folder is not None
        },
    )


def _case_snapshots(plan: RunPlan, store: SnapshotStore, say: Say) -> dict[str, Snapshot]:
    """Of all cases, planned or not, so that the digest of a run's initial state does not depend on the selection.

    A snapshot that is damaged is left out where no planned case begins from it.
    """
    planned = {one.case_id for one in plan.own}
    found: dict[str, Snapshot] = {}
    for name in sorted({case.snapshot for case in plan.suite.cases if case.snapshot is not None}):
        asking = [case.id for case in plan.suite.cases if case.snapshot == name]
        begun = [case_id for case_id in asking if case_id in planned]
        try:
            found[name] = store.load(plan.suite.environment, name)
        except SnapshotError as error:
            place = f"suite {plan.suite.name!r}, case {(begun or asking)[0]!r}, snapshot {name!r}"
            if begun:
                more = f" (and {len(begun) - 1} more cases)" if len(begun) > 1 else ""
                raise SnapshotError(
                    f"{place}{more}: {error.message}", remedy=f"{error.remedy}; or leave the case out of the run"
                ) from None
            say(f"{place}, which this run does not need: {error.message}")
    return found


def _tell_reaped(removed: list[str], say: Say) -> None:
    for one in removed:
        say(f"removed resources of a crashed run: {one}")


@contextmanager
def open_services(project: Path, environment: str | None, snapshot: str | None) -> Iterator[Mapping[str, str]]:
    """Opens the services of an environment outside of a run."""
    from harness.sandbox import ImageStore

    if environment is None:
        raise UsageError("the suite names no environment, so it has no services")
    loaded, images = load_environment(project, environment), ImageStore(project)
    for service in loaded.services:
        images.build(loaded.image_of(service), lambda _: None)
    loaded_snapshot = SnapshotStore(project, images).load(environment, snapshot)
    services = EnvironmentServices(environment=loaded, snapshot=loaded_snapshot, run="tools", images=images)
    with services.open("tools") as running:
        yield running


def _refuse_pageless(suite: Suite, snapshot: Snapshot, own: Mapping[str, Snapshot]) -> None:
    """Raises UsageError if a check needs the address of the case's snapshot, and it has none."""
    for case in suite.cases:
        begins_with = snapshot if case.snapshot is None else own.get(case.snapshot)
        if begins_with is None:  # it is damaged, and no planned case begins from it
            continue
        for look in looks_of(suite, case):
            if look.browser == "fresh" and look.url is None and begins_with.browser_url is None:
                raise UsageError(
                    f"suite {suite.name!r}, case {case.id!r}, check {look.name!r}: there is no page to inspect",
                    remedy="give it `with.url`, or declare a `browser_url` in the state of the environment",
                )


def pins(plan: RunPlan, world: RunSetup) -> dict[str, str]:
    """The pinned values, for the manifest."""
    pinned = {"TZ": "UTC", "LANG": "C.UTF-8", "PYTHONHASHSEED": "0"}
    if world.runtime is not None:
        pinned["runtime"] = world.runtime
    clocks = {case.clock for case in plan.suite.cases if case.clock is not None}
    return {**pinned, "clock": ", ".join(sorted(clocks))} if clocks else pinned
