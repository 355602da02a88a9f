"""The requirements of a plan, checked before anything is built or started."""

from collections.abc import Mapping
from dataclasses import dataclass

from harness.case import Case, StateProbe, Suite, needs_browser
from harness.errors import UsageError
from harness.pipeline.plan.plan import RunPlan
from harness.pipeline.plan.secrets import secret_values
from harness.sandbox import BROWSER_IMAGE, Environment, load_environment
from harness.simulate import asked_models


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
    """Service -> its image, of the services to start; empty where their answers are replayed."""
    browser: bool
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
    own = {version.image} if version is not None and version.image is not None else set()
    planned = {one.case_id for one in plan.own}
    browser, image = needs_browser(suite), environment.image if environment else "base"
    started = environment.services if environment is not None and plan.tools != "replay" else ()
    return Needs(
        plan=plan,
        environment=environment,
        image=image,
        images=frozenset({image, *own, *({BROWSER_IMAGE} if browser else ())}),
        services={name: environment.image_of(name) for name in started} if environment is not None else {},
        browser=browser,
        tasks=tuple(case for case in suite.cases if case.id in planned and case.task_folder is not None),
    )


def refuse_unmet(needs: Needs) -> None:
    """Raises UsageError for a need that cannot be met; nothing is built, started or sent."""
    plan, suite = needs.plan, needs.plan.suite
    _refuse_keyless(plan)
    refuse_unaskable(suite, needs.environment)
    if needs.containers:
        return
    if needs.tasks:
        raise UsageError(
            f"case {needs.tasks[0].id!r} is a task folder, whose sandbox is a container", remedy="use --sandbox docker"
        )
    if needs.browser:
        raise UsageError("the suite needs a browser, which is a container", remedy="use --sandbox docker")
    if needs.services:
        raise UsageError(
            f"--tools {plan.tools} needs the environment's services, which are containers",
            remedy="use --sandbox docker, or --tools replay",
        )


def _refuse_keyless(plan: RunPlan) -> None:
    """Raises UsageError if a live model of agents or users has no key in the environment."""
    if plan.model is not None and plan.suite.model is None:
        raise UsageError(
            f"--model {plan.model}: the suite {plan.suite.name!r} declares no model",
            remedy="declare one in suite.yaml: `model: {api_key: NAME_OF_A_VARIABLE}`",
        )
    if plan.suite.model is not None and plan.model_mode in ("live", "record"):
        from harness.upstream import check_keys  # many suites have no model

        check_keys(plan.suite.model, plan.model_mode, secret_values(plan.suite))
    chosen = {planned.case_id for planned in plan.own}
    for place, model in asked_models(plan.suite, plan.users, [one for one in plan.suite.cases if one.id in chosen]):
        from harness.upstream import check_keys

        check_keys(
            model.spec,
            model.mode,
            secret_values(plan.suite),
            model=f"the model of `{place}`",
            otherwise="--user-mode replay",
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
            remedy="declare `database: {postgresql: NAME}` or `{sqlite: /path}` in environment.yaml",
        )
