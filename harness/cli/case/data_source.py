"""Where the rows of `harness case from-data` come from: a file, or a dataset of Langfuse."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

if TYPE_CHECKING:
    from harness.values import JsonObject

_LANGFUSE: Final = "langfuse:"
_FILE: Final = click.Path(path_type=Path, dir_okay=False, exists=True)


@dataclass(frozen=True)
class Data:
    """A named source of rows."""

    path: Path
    """The file, or `langfuse:NAME`, by which messages name the source."""
    dataset: str | None = None
    """The dataset of Langfuse; None: a file."""

    @property
    def stem(self) -> str:
        """The name without what a file cannot have in its name."""
        if self.dataset is None:
            return self.path.stem
        return re.sub(r"[^A-Za-z0-9._-]+", "-", self.dataset).strip(".-") or "dataset"

    def rows(self) -> "list[JsonObject] | None":
        """None: they stand in the file."""
        if self.dataset is None:
            return None
        from harness.experiments import dataset_rows
        from harness.upstream import LangfuseClient

        return dataset_rows(LangfuseClient.from_environment(), self.dataset)


class DataSource(click.ParamType[Data]):
    """A file that exists, or `langfuse:NAME`."""

    name = "file|langfuse:name"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Data:
        if isinstance(value, Data):
            return value
        text = str(value)
        if not text.startswith(_LANGFUSE) or Path(text).is_file():
            return Data(Path(_FILE.convert(text, param, ctx)))
        dataset = text.removeprefix(_LANGFUSE)
        if not dataset:
            self.fail("expected the name of a dataset behind `langfuse:`", param, ctx)
        return Data(Path(text), dataset)
