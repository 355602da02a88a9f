"""A suite's cases as the items of a Langfuse dataset, under ids that stay the same.

    item `<dataset>:<case>`
        input            task, and where the case has them: system, user_profile, conversation
        expectedOutput   expected_output of the case, else its expected
        metadata         suite, case, category, difficulty, tags, description

Only what differs is sent: Langfuse keeps every write as a version of the item.
"""

from collections.abc import Iterable
from typing import Final
from urllib.parse import quote

from harness.case import Case, Suite
from harness.upstream import LangfuseClient, LangfuseError
from harness.values import Frozen, JsonObject, JsonValue, canonical_json, digest_of_text

_LONGEST_ID: Final = 255
_COMPARED: Final = ("input", "expectedOutput", "metadata")


class Dataset(Frozen):
    """A dataset as Langfuse knows it."""

    id: str
    name: str
    project_id: str


class DatasetChanges(Frozen):
    """How many items an export added, changed, and found as they should be."""

    dataset: Dataset
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    others: int = 0
    """Items of the dataset that are none of the exported cases; they stay as they are."""


def export_dataset(client: LangfuseClient, suite: Suite, cases: Iterable[Case], name: str) -> DatasetChanges:
    """Makes the dataset where there is none, and adds or changes the items of the cases. Raises LangfuseError."""
    dataset = _dataset(client, suite, name)
    known = {str(one.get("id")): one for one in client.pages("/api/public/dataset-items", datasetName=name)}
    counts = {"added": 0, "changed": 0, "unchanged": 0}
    wanted = {item_id(name, case.id): case_item(suite.name, case) for case in cases}
    for identity, item in wanted.items():
        before = known.get(identity)
        kind = "added" if before is None else "unchanged" if _is_same(before, item) else "changed"
        counts[kind] += 1
        if kind != "unchanged":
            client.post("/api/public/dataset-items", {"datasetName": name, "id": identity, **item})
    return DatasetChanges(dataset=dataset, others=len(known.keys() - wanted.keys()), **counts)


def item_id(dataset: str, case_id: str) -> str:
    """Unique in a project of Langfuse, where an id belongs to one dataset for ever."""
    identity = f"{dataset}:{case_id}"
    return identity if len(identity) <= _LONGEST_ID else digest_of_text(identity)


def case_item(suite: str, case: Case) -> JsonObject:
    """What the item of a case holds, in the names of Langfuse's API."""
    asked: JsonObject = {"task": case.task}
    if case.system is not None:
        asked["system"] = case.system
    if case.user_profile is not None:
        asked["user_profile"] = case.user_profile
    if case.conversation is not None:
        asked["conversation"] = case.conversation.model_dump(mode="json", exclude_defaults=True)
    facts: JsonObject = {"suite": suite, "case": case.id, "category": case.category, "difficulty": case.difficulty}
    if case.tags:
        facts["tags"] = list(case.tags)
    if case.description:
        facts["description"] = case.description
    expected: JsonValue = case.expected if case.expected_output is None else case.expected_output
    return {"input": asked, "expectedOutput": expected, "metadata": facts}


def _dataset(client: LangfuseClient, suite: Suite, name: str) -> Dataset:
    try:
        found = client.get(f"/api/public/v2/datasets/{quote(name, safe='')}")
    except LangfuseError as error:
        if error.status != 404:
            raise
        described: JsonObject = {"name": name, "metadata": {"suite": suite.name}}
        found = client.post("/api/public/v2/datasets", described)
    try:
        return Dataset(id=found["id"], name=found["name"], project_id=found["projectId"])
    except (KeyError, TypeError, ValueError):
        raise LangfuseError(f"Langfuse answered with no valid dataset for {name!r}") from None


def _is_same(before: JsonObject, item: JsonObject) -> bool:
    try:
        return all(canonical_json(before.get(field)) == canonical_json(item[field]) for field in _COMPARED)
    except ValueError:  # the case has a number that is not finite, which is sent as a text
        return False
