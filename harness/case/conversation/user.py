"""Who plays the user: the `user` field of a case, and the suite's `user:` section."""

from pydantic import Field, field_validator

from harness.case.endpoints.model_endpoint import RecordedModel
from harness.values import Frozen, JsonObject

UserKind = str
"""`script`, `model`, `logged`, or an installed user of the entry point group `harness.user`."""


class CaseUser(Frozen):
    """Who plays the user of one case."""

    kind: UserKind | None = None
    """`script`, `model`, `logged` or an installed user. None: as the suite says."""
    log: str | None = None
    """A conversation in the suite's folder that `logged` plays back: a YAML or JSON file."""
    withhold: tuple[str, ...] = ()
    """Texts that the user must not say before the agent has asked for them."""
    mistaken: bool = False
    """States that the plan may say what the case's fixtures contradict: the user is meant to be wrong. Otherwise such a
    case is refused before it runs.
    """
    options: JsonObject = {}
    """Options of an installed user."""

    @field_validator("log")
    @classmethod
    def _stays_inside(cls, value: str | None) -> str | None:
        if value is not None and (value.startswith("/") or ".." in value.split("/")):
            raise ValueError(f"{value!r} leaves the suite's folder")
        return value


class EntailmentSpec(RecordedModel):
    """`entailment:` of the `user:` section: a model that is asked whether two turns of an agent tell a logged user the
    same, where rules find that the wording alone differs; on a key, a budget, prices and a rate limit of its own.
    """

    model: str
    """The provider's name of the model."""
    max_tokens: int = Field(default=200, gt=0)
    """Of one answer."""


class UserSpec(RecordedModel):
    """The `user:` section of suite.yaml, or a file `user.yaml` beside it: the model that plays the user, on a key, a
    budget, prices and a rate limit of its own.
    """

    kind: UserKind | None = None
    """The user of cases that name none. None: `script` where a case has turns, else `model` where a model is named."""
    corrections: int = Field(default=2, ge=0, le=5)
    """How often a message that is not a user's message is asked for again before the simulator has failed."""
    silence: int = Field(default=3, ge=1, le=20)
    """Empty replies of the agent after which the user gives up."""
    instructions: str | None = None
    """Added to the simulating model's instructions."""
    persona: str | None = None
    """The persona of cases that name none."""
    entailment: EntailmentSpec | None = None
    """A model that decides whether a logged user is played back where only wording differs. None: the rules do."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """The names of the keys; none where no model is asked."""
        return (*super().secrets, *(() if self.entailment is None else self.entailment.secrets))
