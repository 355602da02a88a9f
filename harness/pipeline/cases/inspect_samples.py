"""Inspect's `Sample`, as data sets hold it: input, target, choices, id and metadata."""

import re
from string import ascii_uppercase

from harness.ingest import sample_facts
from harness.values import JsonObject, JsonValue

_NEEDS = ("sandbox", "files", "setup")


def case_of_sample(sample: JsonObject, number: int) -> JsonObject:
    """The case as plain values. Raises ValueError for a sample that a case cannot represent.

    Metadata become category, difficulty, tags and description. The answer has to contain the target as a word, or one
    of several, as Inspect's `includes` does; of choices the letter.
    """
    for name in _NEEDS:
        if sample.get(name):
            raise ValueError(f"the sample has `{name}`, which a case cannot represent")
    task, system = _asked(sample.get("input"))
    facts = sample_facts(sample.get("metadata"))
    case: JsonObject = {**facts, "id": _id(sample.get("id"), number), "task": task + _listed(sample.get("choices"))}
    if system is not None:
        case["system"] = system
    targets = _targets(sample.get("target"))
    if targets:
        case["expected_output"] = targets[0]
        either = "|".join(re.escape(one) for one in targets)
        rule: JsonObject = {"regex": rf"(?<!\w)(?:{either})(?!\w)", "ignore_case": not sample.get("choices")}
        case["checks"] = [{"name": "target", "verifier": "final_answer", "with": rule}]
    return case


def _id(given: JsonValue, number: int) -> str:
    if given is None or given == "":
        return f"sample-{number:04}"
    return re.sub(r"[^A-Za-z0-9._-]+", "-", str(given)).strip(".-_")[:100] or f"sample-{number:04}"


def _asked(value: JsonValue) -> tuple[str, str | None]:
    if isinstance(value, str) and value.strip():
        return value, None
    if not isinstance(value, list):
        raise ValueError("the sample's `input` is neither a text nor a list of messages")
    by_role: dict[str, list[str]] = {}
    for message in value:
        content = message.get("content") if isinstance(message, dict) else None
        if not isinstance(message, dict) or not isinstance(content, str):
            raise ValueError("a message of the sample's `input` has no text")
        by_role.setdefault(str(message.get("role")), []).append(content)
    other = sorted(set(by_role) - {"system", "user"})
    if other or len(by_role.get("user", [])) != 1:
        raise ValueError("the sample's `input` is a conversation, not one question")
    return by_role["user"][0], "\n\n".join(by_role.get("system", [])) or None


def _listed(choices: JsonValue) -> str:
    if not choices:
        return ""
    if not isinstance(choices, list) or len(choices) > len(ascii_uppercase):
        raise ValueError("the sample's `choices` are not a list of at most 26")
    lines = (f"{letter}) {choice}" for letter, choice in zip(ascii_uppercase, choices, strict=False))
    return "\n\n" + "\n".join(lines) + "\n\nAnswer with the letter of the right choice."


def _targets(value: JsonValue) -> list[str]:
    if value is None or value == "":
        return []
    targets = value if isinstance(value, list) else [value]
    if not all(isinstance(one, str | int | float) and str(one) for one in targets):
        raise ValueError("the sample's `target` is neither a text nor a list of texts")
    return [str(one) for one in targets]
