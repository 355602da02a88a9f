"""The users of a run: `script`, `model`, `logged`, and those of installed packages, opened trial by trial."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from harness.errors import HarnessError, UsageError
from harness.gateway.budgets import OutOfBudget
from harness.gateway.user import Cut, Heard, User, UserContext, UserSource
from harness.plugins import Registry, described
from harness.suite.cases import Case
from harness.suite.conversations import UserSpec
from harness.suite.models import ModelMode, RecordedModel
from harness.suite.suites import Suite
from harness.traces.trial import UserReport
from harness.users.log import UserLog, read_user_log

BUILT_IN: Final = ("script", "model", "logged")
USERS: Final = Registry(seam="user", built_in={})
"""Installed users: a class made by `User(seat, spec)`, or a function of both that gives one; see `harness.api.User`."""


@dataclass(frozen=True, kw_only=True)
class UserOptions:
    """What a run says about its users, over what suite and cases say."""

    kind: str | None = None
    """For every case; None: as each case says."""
    mode: ModelMode | None = None
    """`replay`, `record` or `live`: who answers for the users' model; None: as the suite says."""
    logs: Mapping[str, UserLog] = field(default_factory=dict)
    """Case id -> the logged conversation of another run."""
    log_run: str | None = None
    """That run, for the manifest."""
    entailment: str = ""
    """The prompt with which the model of `entailment:` is asked."""


def kind_of(suite: Suite, case: Case, options: UserOptions) -> str:
    """Who plays the user of a case."""
    if options.kind is not None:
        return options.kind
    own = None if case.user is None else case.user.kind
    if own is not None:
        return own
    if case.id in options.logs or (case.user is not None and case.user.log is not None):
        return "logged"
    if suite.user.kind is not None:
        return suite.user.kind
    talks = case.conversation
    scripted = talks is None or bool(talks.turns) or talks.plan is None or suite.user.model is None
    return "script" if scripted else "model"


class SimulatedUsers:
    """Opens the users of a run's trials; implements `UserSource`."""

    def __init__(self, suite: Suite, options: UserOptions, *, cassettes: Path, secrets: Mapping[str, str]) -> None:
        """Raises UsageError for a user that cannot be played: an unknown kind, no model, no key, no log."""
        from harness.users.asking import UserModel  # a run whose users are scripts needs none of them
        from harness.users.entailment import Entailment

        self._suite = suite
        self._options = options
        self._spec = _in_mode(suite.user, options.mode)
        kinds = {case.id: kind_of(suite, case, options) for case in suite.cases}
        self._installed = {kind: USERS.find(kind, suite.folder) for kind in sorted({*kinds.values()} - {*BUILT_IN})}
        self._model: UserModel | None = None
        if "model" in kinds.values() or ("logged" in kinds.values() and self._spec.model is not None):
            self._model = UserModel(self._spec, suite=suite.name, cassettes=cassettes, secrets=secrets)
        self._entailment: Entailment | None = None
        if "logged" in kinds.values() and self._spec.entailment is not None:
            self._entailment = Entailment(
                self._spec.entailment, options.entailment, suite=suite.name, cassettes=cassettes, secrets=secrets
            )
        self._kinds = kinds
        self._logs: dict[str, UserLog] = dict(options.logs)
        for case in suite.cases:
            # A case without any log is refused when its trial begins: it may not be among those that run.
            if kinds[case.id] == "logged" and case.id not in self._logs and case.user is not None and case.user.log:
                self._logs[case.id] = _log_of(suite, case)

    def open(self, seat: UserContext) -> User | None:
        kind = self._kinds.get(seat.case.id) or kind_of(self._suite, seat.case, self._options)
        match kind:
            case "script":
                return None
            case "model":
                from harness.users.model_user import ModelUser
                from harness.users.role import role_of

                assert self._model is not None  # refused before the run
                return ModelUser(self._model, role_of(seat.case, self._spec), seat)
            case "logged":
                from harness.users.logged_user import LoggedUser

                log = self._logs.get(seat.case.id) or _log_of(self._suite, seat.case)
                return LoggedUser(log, seat, self._spec, self._model, self._entailment)
            case _:
                return InstalledUser(kind, self._installed[kind], seat, self._spec)

    def may_wait(self, case: Case) -> bool:
        match self._kinds.get(case.id) or kind_of(self._suite, case, self._options):
            case "script":
                return False
            case "model" | "logged":
                asked = [one.spec for one in (self._model, self._entailment) if one is not None]
                return any(one.mode != "replay" for one in asked)
            case _:
                return True

    async def close(self) -> None:
        if self._model is not None:
            await self._model.close()
        if self._entailment is not None:
            await self._entailment.close()


def users_of(suite: Suite, options: UserOptions, *, cassettes: Path, secrets: Mapping[str, str]) -> UserSource | None:
    """The users of a run; None if every case has its script, or no user at all. Raises UsageError."""
    if all(kind_of(suite, case, options) == "script" for case in suite.cases):
        return None
    return SimulatedUsers(suite, options, cassettes=cassettes, secrets=secrets)


def asked_models(suite: Suite, options: UserOptions, cases: Iterable[Case]) -> Iterator[tuple[str, RecordedModel]]:
    """What the users of these cases may ask instead of their recordings: the place in suite.yaml, and the model."""
    spec, kinds = _in_mode(suite.user, options.mode), {kind_of(suite, case, options) for case in cases}
    models: dict[str, RecordedModel | None] = {
        "user": spec if kinds & {"model", "logged"} else None,
        "user.entailment": spec.entailment if "logged" in kinds else None,
    }
    for place, model in models.items():
        if model is not None and model.model is not None and model.mode != "replay":
            yield place, model


def _in_mode(spec: UserSpec, mode: ModelMode | None) -> UserSpec:
    """The models of a run's users, all in one mode; None: each as the suite says."""
    if mode is None:
        return spec
    own = {"mode": mode}
    entailment = None if spec.entailment is None else spec.entailment.model_copy(update=own)
    return spec.model_copy(update={**own, "entailment": entailment})


def _log_of(suite: Suite, case: Case) -> UserLog:
    path = None if case.user is None else case.user.log
    if path is None:
        raise UsageError(
            f"case {case.id!r}: no logged conversation is known for its user",
            remedy="name one in the case, `user: {kind: logged, log: FILE}`, or a run: --user logged:RUN",
        )
    return read_user_log(suite.folder / path)


class InstalledUser:
    """Passes everything on to the plug-in's user; implements `User`."""

    def __init__(self, kind: str, make: object, seat: UserContext, spec: UserSpec) -> None:
        """Raises UsageError if the plug-in's code raises, as every method does."""
        if not callable(make):
            raise UsageError(f"the user {kind!r} is neither a class nor a function")
        self._kind = kind
        with self._naming_errors("opened"):
            self._user: User = make(seat, spec)
            self.sees_calls = bool(self._user.sees_calls)

    async def reply(self, heard: Heard) -> str | None:
        with self._naming_errors("asked for a message"):
            return await self._user.reply(heard)

    def unsaid(self) -> tuple[str, ...]:
        with self._naming_errors("asked what it left unsaid"):
            return self._user.unsaid()

    def report(self, heard: Heard, cut: Cut | None) -> UserReport | None:
        with self._naming_errors("asked for its report"):
            return self._user.report(heard, cut)

    @contextmanager
    def _naming_errors(self, when: str) -> Iterator[None]:
        try:
            yield
        except (HarnessError, OutOfBudget):
            raise
        except Exception as error:
            raise UsageError(
                f"the user {self._kind!r} raised {described(error)} when it was {when}",
                remedy="correct the plug-in; docs/how-to/extend/other.md says what a user has to do",
            ) from error
