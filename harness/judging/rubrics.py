"""A rubric: binary criteria with points, in domains with weights."""

from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from harness.errors import InvalidDocument, UsageError
from harness.suite.cases import Case
from harness.suite.conversations import Persona
from harness.suite.documents import read_plain, shaped
from harness.suite.paths import strict_path
from harness.values import Frozen, JsonObject, digest_of

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]

Weight = Annotated[float, Field(gt=0, allow_inf_nan=False)]

Kind = Literal["llm", "code", "checklist", "step"]
"""Who decides: a judge model; a class of this package or of the project; a judge model, item by item of the case's own
checklist; a judge model that is shown the findings too, and names the step that decided a failure."""


MIN_COVERAGE = 0.5


class Criterion(Frozen):
    """One question with the answers pass, fail and "does not apply"."""

    id: Name
    """Name of the criterion within the rubric."""
    statement: str = Field(min_length=1)
    """What must hold for a pass."""
    fail: str | None = None
    """What makes it fail, if that is not just the statement's opposite."""
    domain: Name = "general"
    """The domain that its points count in."""
    points: float = Field(default=1, gt=0, allow_inf_nan=False)
    """Weight among the eligible criteria of its domain."""
    critical: bool = False
    """If it fails, the whole trajectory fails, and its score is 0."""
    safety: bool = False
    """Whether an optimisation refuses what fails it more often than the prompts in use, as it does for critical ones.
    """
    eligibility: str | None = None
    """When the criterion applies: a statement for the judge, or a JSONPath (RFC 9535, begins with `$`) over the
    trajectory with the case's `user_profile`, `states` and `tags` beside its fields, which asks no judge: the criterion
    applies if the path selects something. None: always.
    """
    evidence: tuple[str, ...] = ("conversation",)
    """The views of the transcript that the judge is shown, and nothing else."""
    kind: Kind = "llm"
    """Who decides: a judge model (`llm`), code (`code`), a judge model item by item of the case's checklist
    (`checklist`), or a judge model that is shown the findings as a numbered log and names the step that decided the
    failure, its mode and the entries that support it (`step`)."""
    code: str | None = None
    """Of kind `code`: the name of a built-in check, or `file.py:Name` beside the rubric."""
    parameters: JsonObject = Field(default={}, alias="with")
    """The fields of the code."""
    agents: tuple[str, ...] = ()
    """Only steps of these agents are shown (`orchestrator`: the outermost one); empty: the whole flow. A trajectory in
    which none of them acted is not eligible."""
    version: str = "1"
    """Changed whenever the same evidence could be judged otherwise."""

    @model_validator(mode="after")
    def _says_how_it_is_decided(self) -> Self:
        if (self.kind == "code") != (self.code is not None):
            raise ValueError("field 'code' is required for kind 'code', and allowed for no other kind")
        if self.kind != "code" and not self.evidence:
            raise ValueError("expected at least one view in 'evidence'")
        if self.eligible_path is not None:
            strict_path(self.eligible_path)
        return self

    @property
    def eligible_path(self) -> str | None:
        """The JSONPath that decides without a judge whether the criterion applies."""
        return self.eligibility if self.eligibility is not None and self.eligibility.startswith("$") else None

    @property
    def applies_when(self) -> str | None:
        """The statement that the judge decides it by. None: whatever reaches the judge is eligible."""
        return None if self.eligible_path is not None else self.eligibility


class Rubric(Frozen):
    """The criteria that trajectories are judged by."""

    name: Name
    """Name of the rubric; verdicts are stored under it."""
    version: str = "1"
    """Changed with the meaning of the rubric."""
    description: str = ""
    """One line on what the rubric is for."""
    domains: dict[Name, Weight] = {}
    """Domain -> its share of the whole score, relative to the others. Empty: all domains count alike."""
    criteria: tuple[Criterion, ...] = Field(min_length=1)
    """The questions."""
    checklists: dict[str, tuple[str, ...]] = {}
    """Case id -> what must hold there, item by item; what criteria of kind `checklist` ask."""
    of_user: bool = False
    """Whether it judges the simulated user instead of the agent: conversations that the user invalidated are judged
    too, and the violation rubrics of a case's persona are the items of its checklist.
    """
    prompt: Name = "judge"
    """The name of the judge's prompt."""

    @model_validator(mode="after")
    def _hangs_together(self) -> Self:
        ids = [criterion.id for criterion in self.criteria]
        twice = sorted({one for one in ids if ids.count(one) > 1})
        if twice:
            raise ValueError(f"criteria are given twice: {', '.join(twice)}")
        used = {criterion.domain for criterion in self.criteria}
        unknown = sorted(used - self.domains.keys()) if self.domains else []
        if unknown:
            raise ValueError(f"criteria are in domains that have no weight: {', '.join(unknown)}")
        empty = sorted(self.domains.keys() - used)
        if empty:
            raise ValueError(f"domains without a criterion: {', '.join(empty)}")
        return self

    @property
    def digest(self) -> str:
        """The SHA-256 digest of the rubric's content."""
        return digest_of(self.model_dump(mode="json", by_alias=True))

    @property
    def weights(self) -> Mapping[str, float]:
        """Domain -> weight, in the order of the file."""
        return self.domains or dict.fromkeys((criterion.domain for criterion in self.criteria), 1.0)

    @property
    def safety(self) -> tuple[str, ...]:
        """The domains all of whose criteria are critical or of safety."""
        traded = {one.domain for one in self.criteria if not (one.critical or one.safety)}
        return tuple(name for name in self.weights if name not in traded)

    def criterion(self, id: str) -> Criterion | None:
        """The criterion by its id; an item of a checklist (`<id>.<n>`) gives its checklist's criterion."""
        found = {one.id: one for one in self.criteria}
        return found.get(id) or found.get(id.rpartition(".")[0])

    def is_of(self, id: str, criterion: str) -> bool:
        """Whether `id` is that of the criterion, or of an item of its checklist."""
        found = self.criterion(id)
        return found is not None and found.id == criterion

    def criteria_for(self, case_id: str) -> tuple[Criterion, ...]:
        """The criteria of one case: each of kind `checklist` becomes one for each item of the case's checklist.

        The items have the ids `<id>.1`, `<id>.2`, ... and share the points evenly. Without a checklist the criterion
        stays as it is, to be found not eligible.
        """
        items = self.checklists.get(case_id, ())
        return tuple(one for criterion in self.criteria for one in _items(criterion, items))

    def with_violations(self, cases: Iterable[Case]) -> Self:
        """The rubric of a simulated user with what the persona of each case never does; any other one as it is."""
        if not self.of_user:
            return self
        found = {case.id: violations for case in cases if (violations := _violations(case))}
        return self.model_copy(update={"checklists": {**found, **self.checklists}})

    def judges(self, case_id: str) -> bool:
        """Whether a criterion may apply to the case: one of kind `checklist` needs the items of the case."""
        return bool(self.checklists.get(case_id)) or any(one.kind != "checklist" for one in self.criteria)


def _violations(case: Case) -> tuple[str, ...]:
    persona = None if case.conversation is None else case.conversation.persona
    traits = persona.behaviours if isinstance(persona, Persona) else ()
    return tuple(f"This happens nowhere: {one}" for trait in traits for one in trait.violation_rubrics)


def _items(criterion: Criterion, checklist: Sequence[str]) -> tuple[Criterion, ...]:
    if criterion.kind != "checklist" or not checklist:
        return (criterion,)
    points = criterion.points / len(checklist)
    return tuple(
        criterion.model_copy(update={"id": f"{criterion.id}.{number}", "statement": item, "points": points})
        for number, item in enumerate(checklist, 1)
    )


FOLDER = "rubrics"


def load_rubric(name: str, suite_folder: Path | None = None) -> Rubric:
    """The rubric in the file `name`, else `rubrics/<name>.yaml` of the suite, else the package's template.

    Raises UsageError if none exists, InvalidDocument with file, line and field for a malformed one.
    """
    for path in _places(name, suite_folder):
        if path.is_file():
            return read_rubric(path)
    known = ", ".join(rubric_names(suite_folder))
    raise UsageError(f"there is no rubric {name!r}", remedy=f"a file, or one of: {known}")


def read_rubric(path: Path) -> Rubric:
    """Raises InvalidDocument with file, line and field."""
    data, lines = read_plain(path)
    rubric = shaped(path, data, Rubric, lines)
    for number, criterion in enumerate(rubric.criteria):
        for place, selector in enumerate(criterion.evidence):
            at = ("criteria", number, "evidence", place)
            _check(path, selector, lines.get(at, lines.get(at[:3])), ".".join(map(str, at)))
    return rubric


def _check(path: Path, selector: str, line: int | None, field: str) -> None:
    from harness.judging.views import check_view

    try:
        check_view(selector)
    except UsageError as error:
        raise InvalidDocument(path, str(error), line=line, field=field) from None


def rubric_names(suite_folder: Path | None = None) -> tuple[str, ...]:
    """The suite's own rubrics first, then the templates."""
    suite_rubrics = (
        sorted(path.stem for path in (suite_folder / FOLDER).glob("*.yaml")) if suite_folder is not None else []
    )
    return tuple(dict.fromkeys([*suite_rubrics, *sorted(path.stem for path in _templates().glob("*.yaml"))]))


def _places(name: str, suite_folder: Path | None) -> list[Path]:
    suite_rubrics = [] if suite_folder is None else [suite_folder / FOLDER / f"{name}.yaml", suite_folder / name]
    given = [Path(name)] if name.endswith((".yaml", ".yml", ".json")) else []
    return [*given, *suite_rubrics, _templates() / f"{name}.yaml"]


def _templates() -> Path:
    return Path(str(files("harness.judging") / "templates" / "rubrics"))
