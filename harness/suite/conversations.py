"""Conversations: who plays the user, how, and what the user says."""

from pathlib import Path
from typing import Annotated, Final

from pydantic import AliasChoices, Field, field_validator, model_validator

from harness.errors import UsageError
from harness.suite.documents import read_document
from harness.suite.expressions import check_expression
from harness.suite.models import RecordedModel
from harness.values import Frozen, JsonObject

# Personas: how a simulated user speaks and behaves, whatever the user wants.
#
# Three are built in under the ids of Google ADK (`EXPERT`, `NOVICE`, `EVALUATOR`); their texts are this project's own.
# Others are files of a suite (`personas/<name>.yaml`) or are in the case itself, in ADK's shape or in ours.

FOLDER: Final = "personas"
_NAME: Final = r"^[A-Za-z0-9][A-Za-z0-9._ -]{0,99}$"


class Behaviour(Frozen):
    """One trait of a persona. Field names are read in snake_case and camelCase."""

    name: str
    """Names the trait in reports."""
    description: str = ""
    """The trait in one sentence."""
    instructions: tuple[str, ...] = Field(
        default=(), validation_alias=AliasChoices("instructions", "behavior_instructions", "behaviorInstructions")
    )
    """What the user does; the simulating model is given these."""
    violation_rubrics: tuple[str, ...] = Field(
        default=(), validation_alias=AliasChoices("violation_rubrics", "violationRubrics")
    )
    """What a user of this trait never does; a judge asks each as a criterion of the rubric `user_simulator`."""


class Persona(Frozen):
    """A kind of user."""

    id: str = Field(pattern=_NAME)
    """The name in reports."""
    description: str = ""
    """The person in a few sentences."""
    behaviours: tuple[Behaviour, ...] = Field(default=(), validation_alias=AliasChoices("behaviours", "behaviors"))
    """The traits, in the order in which the simulating model is given them."""

    @property
    def instructions(self) -> tuple[str, ...]:
        """What the user does, over all traits."""
        return tuple(line for trait in self.behaviours for line in (*trait.instructions, *_description_lines(trait)))


def _description_lines(trait: Behaviour) -> tuple[str, ...]:
    return (trait.description,) if trait.description and not trait.instructions else ()


def _trait(name: str, does: tuple[str, ...], never: tuple[str, ...]) -> Behaviour:
    return Behaviour.model_construct(name=name, instructions=does, violation_rubrics=never)


_ANSWERS: Final = _trait(
    "answers what is asked",
    ("Answer a question of the agent from your plan and your details; say that you do not know what they do not say.",),
    ("The user invents a detail that neither the plan nor the profile holds.",),
)

BUILT_IN: Final[dict[str, Persona]] = {  # constructed unchecked: every command would build the validators
    persona.id: persona
    for persona in (
        Persona.model_construct(
            id="EXPERT",
            description="Someone who knows the service well, gives all details at once and wants it done quickly.",
            behaviours=(
                _trait(
                    "gives details early",
                    (
                        "Name all details that the present request needs, with exact values.",
                        "Use the service's own terms.",
                    ),
                    ("The user gives a vague request although the plan holds the exact details.",),
                ),
                _trait(
                    "corrects at once",
                    ("Where the agent has something wrong, say what is wrong and what is right.",),
                    ("The user accepts a result that contradicts the plan without a word.",),
                ),
                _ANSWERS,
            ),
        ),
        Persona.model_construct(
            id="NOVICE",
            description="Someone who uses such a service for the first time, and reveals details when asked.",
            behaviours=(
                _trait(
                    "gives one detail at a time",
                    ("Say at most one new detail in a message, unless the agent asks for several.",),
                    ("The user gives several details in one message although the agent has asked for none of them.",),
                ),
                _trait(
                    "plain words",
                    ("Use everyday words, no technical terms.", "Say so where you do not understand the agent."),
                    ("The user uses technical terms that a first-time user does not know.",),
                ),
                _ANSWERS,
            ),
        ),
        Persona.model_construct(
            id="EVALUATOR",
            description="Someone who tests whether the agent does each step of the plan, in order and without help.",
            behaviours=(
                _trait(
                    "one step at a time",
                    ("Pursue the plan's steps in order; begin the next one when the present one is done.",),
                    ("The user leaves out a step of the plan, or changes the steps' order without a reason.",),
                ),
                _trait(
                    "gives no help",
                    ("Do not tell the agent how to do its work.",),
                    ("The user tells the agent which tool to use or how to solve the task.",),
                ),
                _ANSWERS,
            ),
        ),
    )
}


def persona_of(folder: Path, wanted: str | Persona | None) -> Persona | None:
    """The persona that a case names: given in full, built in, or a file of the suite in `folder`.

    Raises UsageError if there is none of that name, InvalidDocument if its file is wrong.
    """
    if wanted is None or isinstance(wanted, Persona):
        return wanted
    path = folder / FOLDER / f"{wanted}.yaml"
    if wanted in persona_names(folder) and path.is_file():
        return read_document(path, Persona)
    if wanted.upper() in BUILT_IN:
        return BUILT_IN[wanted.upper()]
    known = ", ".join((*persona_names(folder), *BUILT_IN))
    raise UsageError(
        f"there is no persona {wanted[:100]!r}",
        remedy=f"personas: {known}; or write {FOLDER}/{wanted[:100]}.yaml in {folder}",
    )


def persona_names(folder: Path) -> tuple[str, ...]:
    """The personas that are files of the suite."""
    return tuple(sorted(path.stem for path in (folder / FOLDER).glob("*.yaml")))


class When(Frozen):
    """A condition on the agent's last reply and on its actions; all given parts must hold."""

    contains: str | tuple[str, ...] = ()
    """Texts that the last reply must all contain, in upper or lower case."""
    regex: str | None = None
    """Found somewhere in the last reply; upper and lower case are one. `(?s)^(?!.*sorry)` is found in a reply without
    `sorry`."""
    called: str | tuple[str, ...] = ()
    """Tools that have been called without an error so far."""
    not_called: str | tuple[str, ...] = ()
    """Tools that have not been called without an error so far."""

    @field_validator("regex")
    @classmethod
    def _compiles(cls, value: str | None) -> str | None:
        if value is not None:
            check_expression(value)
        return value


class UserTurn(Frozen):
    """A message that the user may send once; without `say`, the turn only ends the conversation."""

    when: When | None = None
    """None: at any time."""
    say: str | None = Field(default=None, min_length=1)
    """The user's message."""
    end: bool = False
    """Marks the user's last message."""

    @model_validator(mode="after")
    def _does_something(self) -> "UserTurn":
        if self.say is None and not self.end:
            raise ValueError("a turn needs `say`, or `end: true`")
        return self


class Conversation(Frozen):
    """A scripted user. After each reply, the user sends the first unused turn whose condition holds; without one, the
    conversation ends.
    """

    turns: tuple[UserTurn, ...] = ()
    """The messages that the user may send after the case's `task`."""
    max_turns: int = Field(default=20, ge=1, le=1000)
    """Messages of the user at most, the task included."""
    plan: str | None = None
    """What a simulated user pursues; a scripted user does not follow it, and reports that."""
    persona: str | Persona | None = None
    """Who pursues the plan: `EXPERT`, `NOVICE`, `EVALUATOR`, a file of `personas/`, or a persona in full."""


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
    parameters: JsonObject = Field(default={}, alias="with")
    """Parameters of an installed user."""

    @field_validator("log")
    @classmethod
    def _stays_inside(cls, value: str | None) -> str | None:
        if value is not None and (value.startswith("/") or ".." in value.split("/")):
            raise ValueError(f"{value!r} leaves the suite's folder")
        return value


class EntailmentSpec(RecordedModel):
    """`entailment:` of the `user:` section: a model that is asked whether a turn of an agent that is not equal to the
    log's tells the user the same; on a key, a budget, prices and a rate limit of its own.
    """

    model: str
    """The provider's name of the model."""
    max_tokens: int = Field(default=400, gt=0)
    """Of one answer."""


class UserSpec(RecordedModel):
    """The `user:` section of suite.yaml: the model that plays the user, on a key, a budget, prices and a rate limit of
    its own.
    """

    kind: UserKind | None = None
    """The user of cases that name none. None: `script` if a case has turns, else `model` if a model is named."""
    instructions: str | None = None
    """Added to the simulating model's instructions."""
    persona: str | None = None
    """The persona of cases that name none."""
    entailment: EntailmentSpec | None = None
    """A model that decides whether a logged user is played back if the agent's turn is not equal to the log's. None: it
    is not.
    """

    @property
    def secrets(self) -> tuple[str, ...]:
        """The names of the keys; none if no model is asked."""
        return (*super().secrets, *(() if self.entailment is None else self.entailment.secrets))


class Route(Frozen):
    """The sub-agents that should act in the turns that it names."""

    agents: tuple[str, ...]
    """Names of sub-agents; the order does not matter. Empty: the main agent answers by itself."""
    when: Annotated[int, Field(ge=1)] | Annotated[str, Field(min_length=1)]
    """Number of the user's message, from 1; or a text within it, in upper or lower case."""

    def fits(self, turn: int, message: str) -> bool:
        """Whether the user's message of that number is meant."""
        return turn == self.when if isinstance(self.when, int) else self.when.casefold() in message.casefold()
