"""Personas: how a simulated user speaks and behaves, whatever the user wants.

Three are built in under the ids of Google ADK (`EXPERT`, `NOVICE`, `EVALUATOR`); their texts are this project's own.
Others are files of a suite (`personas/<name>.yaml`) or stand in the case itself, in ADK's shape or in ours.
"""

from pathlib import Path
from typing import Final

from pydantic import AliasChoices, Field

from harness.documents import read_document
from harness.errors import UsageError
from harness.values import Frozen

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
    language: str | None = None
    """The language that the user writes, such as `en`; None: that of the opening message."""

    @property
    def instructions(self) -> tuple[str, ...]:
        """What the user does, over all traits."""
        return tuple(line for trait in self.behaviours for line in (*trait.instructions, *_described(trait)))


def _described(trait: Behaviour) -> tuple[str, ...]:
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

    Raises UsageError where there is none of that name, InvalidDocument where its file is wrong.
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
