"""The item of an experiment of Langfuse: its case, its scores, and which of them is the reward."""

from typing import Final

from harness.case import Case
from harness.ingest.found import Source
from harness.ingest.inspect_facts import sample_facts
from harness.ingest.naming import case_id, wall_ns
from harness.ingest.reading import Record, embedded_json
from harness.trace import names
from harness.values import JsonObject, JsonValue, canonical_json

_TASKS: Final = ("task", "question", "query", "input", "prompt", "text")
_SUCCESS: Final = "success"
"""The score by which the export of this harness says whether a trial passed."""
_MOST_SCORES: Final = 50
"""Of one item in Langfuse's listing."""
_EVALUATION: Final = "gen_ai.evaluation.result"


def item_value(raw: JsonValue) -> JsonValue:
    """Langfuse gives inputs and outputs as texts: the object or list that one holds, else the text."""
    plain = embedded_json(raw) if isinstance(raw, str) else None
    return plain if isinstance(plain, dict | list) else raw


def item_text(raw: JsonValue) -> str:
    """What an input asks or an output says, in words."""
    value = item_value(raw)
    if isinstance(value, dict):
        value = next((value[name] for name in _TASKS if isinstance(value.get(name), str)), value)
    return value if isinstance(value, str) else "" if value is None else canonical_json(value)


def item_case(source: Source, record: str, item: Record) -> Case:
    """The case under the id of the dataset's item, or under the id of the case that this harness made the item of."""
    metadata = item_value(item.value("experimentItemMetadata"))
    told = dict(metadata) if isinstance(metadata, dict) else {}
    identifier = item.text("experimentItemId") or ""
    own = told.get("case")
    is_own = isinstance(own, str) and identifier.endswith(f":{own}")
    facts: JsonObject = {key: item_value(value) for key, value in told.items()}
    for name in ("case", "suite") if is_own else ():
        facts.pop(name, None)
    described = facts.pop("description", None) if is_own else None
    fields = sample_facts(facts)
    if isinstance(described, str):
        fields["description"] = "\n".join(str(part) for part in (described, fields.get("description")) if part)
    asked = item_value(item.value("input"))
    given = asked if isinstance(asked, dict) and is_own else {}
    fields |= {
        "id": case_id(str(own) if is_own else identifier),
        "task": item_text(asked),
        "expected_output": item_value(item.value("expectedOutput")),
        "origin": f"{source.path.name} {record}",
    }
    if isinstance(given.get("system"), str):
        fields["system"] = given["system"]
    if isinstance(given.get("user_profile"), dict):
        fields["user_profile"] = given["user_profile"]
    return source.case(record, fields)


def evaluations_of(source: Source, record: str, item: Record) -> tuple[JsonObject, ...]:
    """The scores as events of the conventions: recorded values of others, and no checks of this harness."""
    scores = item.records("scores")
    if len(scores) >= _MOST_SCORES:
        source.note(record, f"Langfuse lists at most {_MOST_SCORES} scores of an item; others may be missing")
    return tuple(source.cleaner.fields(_event(score)) for score in scores)


def reward_of(source: Source, record: str, item: Record) -> float | None:
    """The score that the options name, else the only one, else `success`; none of several others, which is noted."""
    numbers = {str(one.value("name")): number for one in item.records("scores") if (number := _number(one)) is not None}
    wanted = source.options.score
    if wanted is None:
        wanted = next(iter(numbers)) if len(numbers) == 1 else _SUCCESS
    if numbers and wanted not in numbers:
        source.note(
            record,
            "none of its scores is the reward",
            field="scores",
            remedy=f"name one with the option `score` (--score NAME): {', '.join(sorted(numbers)[:20])}",
        )
    return numbers.get(wanted)


def _event(score: Record) -> JsonObject:
    number, value = _number(score), score.value("value")
    facts: JsonObject = {
        names.EVALUATION_NAME: str(score.value("name")),
        names.EVALUATION_SCORE: number,
        names.EVALUATION_LABEL: None if number is not None and not isinstance(value, bool) else str(value),
        names.EVALUATION_EXPLANATION: score.text("comment"),
        names.EVALUATOR_SOURCE: score.text("source"),
    }
    return {
        "name": _EVALUATION,
        "time_ns": wall_ns(score.value("timestamp")) or 0,
        "attributes": {name: one for name, one in facts.items() if one is not None},
    }


def _number(score: Record) -> float | None:
    """The value of a numeric or boolean score."""
    value = score.value("value")
    if isinstance(value, bool):
        return float(value)
    return float(value) if isinstance(value, int | float) and abs(value) < 1e300 else None
