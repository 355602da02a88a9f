"""Datasets of Langfuse: a suite's cases as items, items as rows of cases, and runs of a dataset fetched."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from pydantic import JsonValue

from harness.errors import UsageError
from harness.gateway.upstream.langfuse import LangfuseClient, LangfuseError, batches
from harness.suite.cases import Case
from harness.suite.suites import Suite
from harness.values import Frozen, JsonObject, canonical_json, digest_of_text

# A suite's cases as the items of a Langfuse dataset, under ids that stay the same.
#
#     item `<dataset>:<case>`
#         input            task, and if the case has them: system, user_profile, conversation
#         expectedOutput   expected_output of the case, else its expected
#         metadata         suite, case, category, tags, description
#
# Only what differs is sent: Langfuse keeps every write as a version of the item.

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
    """Makes the dataset if there is none, and adds or changes the items of the cases. Raises LangfuseError."""
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
    """Unique in a project of Langfuse, if an id belongs to one dataset for ever."""
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
    facts: JsonObject = {"suite": suite, "case": case.id, "category": case.category}
    if case.tags:
        facts["tags"] = list(case.tags)
    if case.description:
        facts["description"] = case.description
    expected: JsonValue = case.expected if case.expected_output is None else case.expected_output
    return {"input": asked, "expectedOutput": expected, "metadata": facts}


def _dataset(client: LangfuseClient, suite: Suite, name: str) -> Dataset:
    found = _found_dataset(client, name)
    if found is None:
        found = client.post("/api/public/v2/datasets", {"name": name, "metadata": {"suite": suite.name}})
    try:
        return Dataset(id=found["id"], name=found["name"], project_id=found["projectId"])
    except (KeyError, TypeError, ValueError):
        raise LangfuseError(f"Langfuse answered with no valid dataset for {name!r}") from None


def _found_dataset(client: LangfuseClient, name: str) -> Any:
    """What Langfuse tells of a dataset; None if there is none."""
    try:
        return client.get(f"/api/public/v2/datasets/{quote(name, safe='')}")
    except LangfuseError as error:
        if error.status != 404:
            raise
        return None


def _known_dataset(client: LangfuseClient, name: str) -> Any:
    found = _found_dataset(client, name)
    if found is None:
        raise UsageError(
            f"Langfuse at {client.host} has no dataset {name!r}",
            remedy="check the name, and that the keys are those of its project",
        )
    return found


def _is_same(before: JsonObject, item: JsonObject) -> bool:
    try:
        return all(canonical_json(before.get(field)) == canonical_json(item[field]) for field in _COMPARED)
    except ValueError:  # the case has a number that is not finite, which is sent as a text
        return False


_PARTS: Final = {"input": "input", "expected_output": "expectedOutput", "metadata": "metadata"}


def dataset_rows(client: LangfuseClient, name: str) -> list[JsonObject]:
    """One row for each item that is not archived, in Langfuse's order reversed: the oldest first.

    Columns: `id`, `input`, `expected_output`, `metadata`, and for each field of an object `input.<field>` and so on;
    `target` is the expected output under the name that Inspect's samples have for it. Raises UsageError if there is
    no such dataset, and LangfuseError.
    """
    _known_dataset(client, name)
    items = list(client.pages("/api/public/dataset-items", datasetName=name))
    return [_row(one) for one in reversed(items) if one.get("status") != "ARCHIVED"]


def _row(item: JsonObject) -> JsonObject:
    row: JsonObject = {"id": item.get("id"), "target": item.get("expectedOutput")}
    for column, field in _PARTS.items():
        value = item.get(field)
        row[column] = value
        if isinstance(value, dict):
            row |= {f"{column}.{name}": one for name, one in value.items()}
    return row


# A run of a Langfuse dataset, fetched as the file that the import format `langfuse` reads.
#
#     datasets/{name} -> experiments on it -> items of the chosen one -> observations of each item's trace
#
# Langfuse cuts values of metadata that are longer than 200 characters, unless they are asked for by name.

_SINCE: Final = "2000-01-01T00:00:00.000Z"
"""A bound that Langfuse asks for; imported trajectories without times were sent with ones after it."""
_ITEM_FIELDS: Final = "core,dataset,io,metadata,itemMetadata,scores"
_OBSERVATION_FIELDS: Final = "core,basic,io,metadata,model,usage"
_CUT: Final = 200
_MOST_NAMES: Final = 4000
"""Characters of the names that one request asks for."""
_SHOWN: Final = 20
_MOST_BYTES: Final = 1024 * 1024 * 1024


class LangfuseRun(Frozen):
    """A run of a dataset: an experiment of Langfuse."""

    id: str
    name: str
    items: int


def dataset_runs(client: LangfuseClient, dataset: str) -> tuple[LangfuseRun, ...]:
    """Every run of the dataset, the latest first. Raises UsageError if there is no such dataset, LangfuseError."""
    try:
        identity = str(_known_dataset(client, dataset)["id"])
    except (KeyError, TypeError):
        raise LangfuseError(f"Langfuse answered with no valid dataset for {dataset!r}") from None
    listed = client.listed("/api/public/experiments", datasetId=identity, fromStartTime=_SINCE, fields="core")
    return tuple(_run(one) for one in listed)


def chosen_run(runs: Iterable[LangfuseRun], dataset: str, wanted: str | None) -> LangfuseRun:
    """The run of that name or id. Raises UsageError that names those that exist."""
    every = tuple(runs)
    if not every:
        raise UsageError(f"dataset {dataset!r} has no run", remedy="run an experiment on it, or name another dataset")
    shown = ", ".join(f"{one.name} ({one.items} items)" for one in every[:_SHOWN])
    more = f" and {len(every) - _SHOWN} others" if len(every) > _SHOWN else ""
    if wanted is None:
        raise UsageError(f"which run of dataset {dataset!r}? It has {shown}{more}", remedy="name one with --run")
    found = [one for one in every if wanted in (one.name, one.id)]
    if len(found) == 1:
        return found[0]
    if found:
        ids = ", ".join(one.id for one in found)
        raise UsageError(f"dataset {dataset!r} has {len(found)} runs {wanted!r}", remedy=f"give the id of one: {ids}")
    raise UsageError(
        f"dataset {dataset!r} has no run {wanted!r}; it has {shown}{more}", remedy="name one of them with --run"
    )


def fetch_run(client: LangfuseClient, run: LangfuseRun, file: Path) -> int:
    """Writes a line for each item that was run, the oldest first; how many. Raises LangfuseError."""
    listed = client.listed(
        "/api/public/experiment-items", experimentId=run.id, fromStartTime=_SINCE, fields=_ITEM_FIELDS, scoreLimit=50
    )
    items = list(listed)[::-1]
    shared = Counter(str(one.get("traceId") or "") for one in items)
    size = 0
    with file.open("w", encoding="utf-8") as stream:
        for item in items:
            trace = str(item.get("traceId") or "")
            found = _observations(client, trace) if trace else []
            if shared[trace] > 1:
                found = list(_observations_below(found, str(item.get("id"))))
            line = json.dumps({"item": item, "observations": found}, ensure_ascii=False) + "\n"
            size += len(line.encode())
            if size > _MOST_BYTES:
                raise LangfuseError(f"run {run.name!r} holds more than {_MOST_BYTES} bytes")
            stream.write(line)
    return len(items)


def _run(entry: JsonObject) -> LangfuseRun:
    count = entry.get("itemCount")
    try:
        return LangfuseRun(id=str(entry["id"]), name=str(entry["name"]), items=count if isinstance(count, int) else 0)
    except KeyError as missing:
        raise LangfuseError(f"Langfuse lists an experiment without {missing}") from None


def _observations(client: LangfuseClient, trace: str) -> list[JsonObject]:
    """Those of a trace by their start, with their metadata in full."""
    found = {str(one.get("id")): one for one in _listed_observations(client, trace)}
    cut = sorted({name for one in found.values() for name, value in _metadata(one).items() if _is_cut(value)})
    for names in batches((name for name in cut if "," not in name), _MOST_NAMES, lambda name: len(name) + 1):
        asked = set(names)
        for one in _listed_observations(client, trace, ",".join(names)):
            known = found.get(str(one.get("id")))
            if known is not None:
                full = {name: value for name, value in _metadata(one).items() if name in asked}
                known["metadata"] = {**_metadata(known), **full}
    return sorted(found.values(), key=lambda one: (str(one.get("startTime")), str(one.get("id"))))


def _listed_observations(client: LangfuseClient, trace: str, names: str = "") -> Iterator[JsonObject]:
    asked = {"traceId": trace, "fromStartTime": _SINCE, "fields": _OBSERVATION_FIELDS}
    return client.listed("/api/public/v2/observations", **asked, **({"expandMetadata": names} if names else {}))


def _metadata(observation: JsonObject) -> JsonObject:
    found = observation.get("metadata")
    return found if isinstance(found, dict) else {}


def _is_cut(value: object) -> bool:
    """Whether a value has the length of one that may have been cut."""
    return len(value if isinstance(value, str) else json.dumps(value)) >= _CUT


def _observations_below(observations: list[JsonObject], root: str) -> Iterator[JsonObject]:
    """The observation of that id and all below it, of a trace that holds several items."""
    children: dict[str, list[JsonObject]] = {}
    for one in observations:
        children.setdefault(str(one.get("parentObservationId")), []).append(one)
    waiting = [one for one in observations if one.get("id") == root]
    seen: set[str] = set()
    while waiting:
        one = waiting.pop()
        if str(one.get("id")) not in seen:
            seen.add(str(one.get("id")))
            yield one
            waiting.extend(children.get(str(one.get("id")), ()))
