"""The items of a Langfuse dataset as rows, of which cases can be made by a template."""

from typing import Final
from urllib.parse import quote

from harness.errors import UsageError
from harness.upstream import LangfuseClient, LangfuseError
from harness.values import JsonObject

_PARTS: Final = {"input": "input", "expected_output": "expectedOutput", "metadata": "metadata"}


def dataset_rows(client: LangfuseClient, name: str) -> list[JsonObject]:
    """One row for each item that is not archived, in Langfuse's order reversed: the oldest first.

    Columns: `id`, `input`, `expected_output`, `metadata`, and for each field of an object `input.<field>` and so on;
    `target` is the expected output under the name that Inspect's samples have for it. Raises UsageError where there is
    no such dataset, and LangfuseError.
    """
    try:
        client.get(f"/api/public/v2/datasets/{quote(name, safe='')}")
    except LangfuseError as error:
        if error.status != 404:
            raise
        raise UsageError(
            f"Langfuse at {client.host} has no dataset {name!r}",
            remedy="check the name, and that the keys are those of its project",
        ) from None
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
