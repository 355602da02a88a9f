"""The initial environment of a run's trials (images, a verified snapshot, services), and what a plan needs."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import JsonValue

from harness.errors import SnapshotError, UsageError
from harness.gateway.contract import ServiceOpener
from harness.runs.plan.plan import RunPlan, secret_values
from harness.sandbox.environment import BASE_IMAGE, Environment, load_environment
from harness.sandbox.images.recipe import BROWSER_IMAGE, image_names
from harness.sandbox.leftovers import left_on_machine, remove_all
from harness.sandbox.snapshot import Snapshot
from harness.sandbox.snapshots import SnapshotStore
from harness.suite.cases import Case, StateProbe
from harness.suite.checks import looks_of, needs_browser
from harness.suite.documents import open_document
from harness.suite.suites import Suite
from harness.users.users import asked_models
from harness.values import digest_of

if TYPE_CHECKING:
    from harness.sandbox.images.store import ImageStore
    from harness.sandbox.tasks import PreparedTask


@dataclass(frozen=True, kw_only=True)
class Needs:
    """The requirements of a plan before its first trial."""

    plan: RunPlan
    environment: Environment | None
    image: str
    """The sandboxes' image."""
    images: frozenset[str]
    """Images to build besides those of the services: the environment's, the agent's own, the browser's."""
    services: Mapping[str, str]
    """Service -> its image, of the services to start; empty if their answers are replayed."""
    browser: bool
    own_image: str | None = None
    """The agent's own image, if it declares one."""
    tasks: tuple[Case, ...] = ()
    """Planned cases that are task folders, each with a sandbox of its own."""

    @property
    def containers(self) -> bool:
        """Whether the sandboxes are containers."""
        return self.plan.sandbox != "local"


def needs_of(plan: RunPlan) -> Needs:
    """Works out the needs of a plan. Raises UsageError for an environment that does not exist or is malformed."""
    suite = plan.suite
    environment = load_environment(plan.project, suite.environment) if suite.environment else None
    version = suite.agents.get(plan.agent or suite.default_agent)
    own = version.image if version is not None else None
    planned = {one.case_id for one in plan.own}
    browser, image = needs_browser(suite), environment.image if environment else "base"
    started = environment.services if environment is not None and plan.tools != "replay" else ()
    return Needs(
        plan=plan,
        environment=environment,
        image=image,
        images=frozenset({image, *([own] if own else []), *({BROWSER_IMAGE} if browser else ())}),
        services={name: environment.image_of(name) for name in started} if environment is not None else {},
        browser=browser,
        own_image=own,
        tasks=tuple(case for case in suite.cases if case.id in planned and case.task_folder is not None),
    )


def refuse_unmet(needs: Needs) -> None:
    """Raises UsageError for a need that cannot be met; nothing is built, started or sent."""
    plan, suite = needs.plan, needs.plan.suite
    _refuse_keyless(plan)
    refuse_unaskable(suite, needs.environment)
    if needs.containers:
        _refuse_unknown_images(needs)
        return
    if needs.tasks:
        raise UsageError(
            f"case {needs.tasks[0].id!r} is a task folder, whose sandbox is a container", remedy="use --sandbox docker"
        )
    if needs.browser:
        raise UsageError("the suite needs a browser, which is a container", remedy="use --sandbox docker")
    if needs.services:
        raise UsageError(
            f"`{plan.tools}` tools need the environment's services, which are containers",
            remedy="use --sandbox docker, or --live none",
        )


def _refuse_unknown_images(needs: Needs) -> None:
    """Raises InvalidDocument at the field that names an image which the project does not have."""
    suite, environment = needs.plan.suite, needs.environment
    named: list[tuple[Path, tuple[str, ...], str]] = []
    if environment is not None:
        file = environment.folder / "environment.yaml"
        named = [(file, ("services", service, "image"), image) for service, image in needs.services.items()]
        named.append((file, ("image",), environment.image))
    version = needs.plan.agent or suite.default_agent
    named.append((suite.folder / "suite.yaml", ("agents", version, "image"), needs.own_image or BASE_IMAGE))
    known = image_names(needs.plan.project / "images")
    for file, at, image in named:
        if image not in {*known, BROWSER_IMAGE}:
            open_document(file).refuse(*at, problem=f"there is no image {image!r}", remedy=f"known: {', '.join(known)}")


def _refuse_keyless(plan: RunPlan) -> None:
    """Raises UsageError if a live model of agents or users has no key in the environment."""
    has_none = plan.suite.model is None and plan.suite.user.model is None
    if plan.model in ("live", "record") and plan.tools == "replay" and has_none:
        raise UsageError(
            f"the model cannot be live, or recorded: the suite {plan.suite.name!r} declares no model",
            remedy="declare one in suite.yaml: `model: {api_key: NAME_OF_A_VARIABLE}`",
        )
    if plan.suite.model is not None and plan.model_mode in ("live", "record"):
        from harness.gateway.models.provider import check_keys  # many suites have no model

        check_keys(plan.suite.model, plan.model_mode, secret_values(plan.suite))
    chosen = {planned.case_id for planned in plan.own}
    for place, model in asked_models(plan.suite, plan.users, [one for one in plan.suite.cases if one.id in chosen]):
        from harness.gateway.models.provider import check_keys

        check_keys(
            model.spec,
            model.mode,
            secret_values(plan.suite),
            model=f"the model of `{place}`",
            otherwise="--live none",
        )


def refuse_unaskable(suite: Suite, environment: Environment | None) -> None:
    """Raises UsageError for a probe of a database that no service of the environment has."""
    for probe in (*suite.probes, *(probe for case in suite.cases for probe in case.probes)):
        if environment is not None and probe.sql is not None and probe.sql.service is not None:
            _refuse_unasked(suite, probe, environment, probe.sql.service)


def _refuse_unasked(suite: Suite, probe: StateProbe, environment: Environment, name: str) -> None:
    place = f"suite {suite.name!r}, probe {probe.name!r}, field 'sql.service'"
    if name not in environment.services:
        known = ", ".join(environment.services) or "none"
        raise UsageError(f"{place}: the environment has no service {name!r}", remedy=f"it has: {known}")
    if environment.services[name].database is None:
        raise UsageError(
            f"{place}: service {name!r} does not declare how its database is queried",
            remedy="declare `database: postgresql:///NAME` or `sqlite:///PATH` in environment.yaml",
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
        from harness.sandbox.services import start_services

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
    from harness.sandbox.images.store import ImageStore
    from harness.sandbox.leftovers import reap
    from harness.sandbox.tasks import prepare_task

    images = ImageStore(plan.project)
    _tell_reaped(reap(images.client), say)
    built = {name: images.build(name, say) for name in sorted(needs.images)}
    store = SnapshotStore(plan.project, images)
    snapshot, own = store.load(suite.environment, suite.snapshot), _case_snapshots(plan, store, say)
    services = None
    if environment is not None and needs.services:
        for image in needs.services.values():
            built[image] = images.build(image, say)
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
        tasks={
            case.id: prepare_task(plan.project, suite.folder, case, case.task_folder, images, say)
            for case in needs.tasks
            if case.task_folder is not None
        },
    )


def _case_snapshots(plan: RunPlan, store: SnapshotStore, say: Say) -> dict[str, Snapshot]:
    """Of all cases, planned or not, so that the digest of a run's initial state does not depend on the selection.

    A snapshot that is damaged is left out if no planned case begins from it.
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
    from harness.sandbox.images.store import ImageStore

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
                    remedy="give it `with.url`, or declare `browser.base_url` in the state of the environment",
                )


def pins(plan: RunPlan) -> dict[str, str]:
    """The pinned values, for the manifest."""
    pinned = {"TZ": "UTC", "LANG": "C.UTF-8", "PYTHONHASHSEED": "0"}
    clocks = {case.clock for case in plan.suite.cases if case.clock is not None}
    return {**pinned, "clock": ", ".join(sorted(clocks))} if clocks else pinned
