"""A run of a Langfuse dataset, fetched as the file that the import format `langfuse` reads.

    datasets/{name} -> experiments on it -> items of the chosen one -> observations of each item's trace

Langfuse cuts values of metadata that are longer than 200 characters, unless they are asked for by name.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final
from urllib.parse import quote

from harness.errors import UsageError
from harness.upstream import LangfuseClient, LangfuseError
from harness.values import Frozen, JsonObject

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
    """Every run of the dataset, the latest first. Raises UsageError where there is no such dataset, LangfuseError."""
    try:
        found = client.get(f"/api/public/v2/datasets/{quote(dataset, safe='')}")
        identity = str(found["id"])
    except LangfuseError as error:
        if error.status != 404:
            raise
        raise UsageError(
            f"Langfuse at {client.host} has no dataset {dataset!r}",
            remedy="check the name, and that the keys are those of its project",
        ) from None
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
                found = list(_below(found, str(item.get("id"))))
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
    found = {str(one.get("id")): one for one in _listed(client, trace)}
    cut = sorted({name for one in found.values() for name, value in _metadata(one).items() if _is_cut(value)})
    for names in _joined(name for name in cut if "," not in name):
        asked = set(names.split(","))
        for one in _listed(client, trace, names):
            known = found.get(str(one.get("id")))
            if known is not None:
                full = {name: value for name, value in _metadata(one).items() if name in asked}
                known["metadata"] = {**_metadata(known), **full}
    return sorted(found.values(), key=lambda one: (str(one.get("startTime")), str(one.get("id"))))


def _listed(client: LangfuseClient, trace: str, names: str = "") -> Iterator[JsonObject]:
    asked = {"traceId": trace, "fromStartTime": _SINCE, "fields": _OBSERVATION_FIELDS}
    return client.listed("/api/public/v2/observations", **asked, **({"expandMetadata": names} if names else {}))


def _metadata(observation: JsonObject) -> JsonObject:
    found = observation.get("metadata")
    return found if isinstance(found, dict) else {}


def _is_cut(value: object) -> bool:
    """Whether a value has the length of one that may have been cut."""
    return len(value if isinstance(value, str) else json.dumps(value)) >= _CUT


def _joined(names: Iterable[str]) -> Iterator[str]:
    part = ""
    for name in names:
        if part and len(part) + len(name) > _MOST_NAMES:
            yield part
            part = ""
        part = f"{part},{name}" if part else name
    if part:
        yield part


def _below(observations: list[JsonObject], root: str) -> Iterator[JsonObject]:
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
