"""What the cases say of their users, looked up when the suite is loaded: a wrong name is found before a run."""

from pathlib import Path

from harness.case.case import Case
from harness.case.conversation.persona import persona_of
from harness.case.conversation.user import UserSpec
from harness.case.document import Document
from harness.disk import is_file
from harness.errors import InvalidDocument, UsageError


def with_user(source: Document, index: int, case: Case, *, folder: Path, user: UserSpec) -> Case:
    """The case with its persona in full: the suite's where a case with a plan names none.

    Raises InvalidDocument where there is no such persona, or no such log.
    """
    if case.user is not None and case.user.log is not None and not is_file(folder / case.user.log):
        source.refuse(index, "user", "log", problem=f"there is no file {folder / case.user.log}")
    conversation = case.conversation
    if conversation is None:
        return case
    wanted = conversation.persona or (user.persona if conversation.plan is not None else None)
    try:
        persona = persona_of(folder, wanted)
    except InvalidDocument:  # of the persona's own file
        raise
    except UsageError as error:
        if conversation.persona is None:  # the suite's
            suite_file = folder / ("user.yaml" if is_file(folder / "user.yaml") else "suite.yaml")
            field = "persona" if suite_file.name == "user.yaml" else "user.persona"
            raise InvalidDocument(suite_file, error.message, field=field, remedy=error.remedy) from None
        source.refuse(
            index, "conversation", "persona", problem=f"case {case.id!r}: {error.message}", remedy=error.remedy
        )
    if persona == conversation.persona:
        return case
    return case.model_copy(update={"conversation": conversation.model_copy(update={"persona": persona})})
