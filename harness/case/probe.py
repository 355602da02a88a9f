"""Reads that the harness itself makes around a trial: a tool's answer, rows of a database, an API's answer."""

import posixpath
from typing import Literal

from pydantic import Field, field_validator, model_validator

from harness.values import Frozen, JsonObject, JsonValue

ALL_TABLES = "*"


class SqlProbe(Frozen):
    """Reads a database: the result of a query at the end, or the trial's changes of whole tables.

    A query returns `{"rows": [...]}`; tables return `{"tables": {name: {rows, digest, added, removed, changed}}}`,
    where the primary key identifies rows and defines the order of the digest. Both return `{"error": text}` where the
    database rejects the query, and `{"unmeasurable": reason}` where it cannot be read within the limits: `timeout_s`,
    memory, 64 MiB of database, 16 MiB of rows. SQLite files are copied into a sandbox and read there: without opening
    any file that the database names, and without a rollback journal. Exactly one of `service` and `file`, and of
    `query` and `tables`.
    """

    service: str | None = None
    """A service of the environment that declares its `database`."""
    file: str | None = None
    """A SQLite file that the agent leaves in its sandbox, relative to /work; read in every tool mode."""
    query: str | None = Field(default=None, min_length=1)
    """One SELECT; the order of its rows is kept. It cannot write."""
    tables: tuple[str, ...] | None = Field(default=None, min_length=1)
    """Names of tables; `["*"]`: all. A table outside of PostgreSQL's schema `public` is `schema.table`."""
    ignore: dict[str, tuple[str, ...]] = {}
    """Table -> columns that are left out: times, random tokens."""
    timeout_s: float = Field(default=30.0, gt=0)
    """Processor time for SQLite, for PostgreSQL the time of a statement."""

    @model_validator(mode="after")
    def _one_of_each(self) -> "SqlProbe":
        if (self.service is None) == (self.file is None):
            raise ValueError("give exactly one of `service` and `file`")
        if (self.query is None) == (self.tables is None):
            raise ValueError("give exactly one of `query` and `tables`")
        if self.ignore and self.tables is None:
            raise ValueError("`ignore` is for `tables`: leave the columns out of the query")
        return self

    @property
    def path(self) -> str:
        """The file's absolute path in the sandbox."""
        return posixpath.join("/work", self.file or "")

    @property
    def wanted(self) -> tuple[str, ...]:
        """The tables by name; empty: all."""
        return () if self.tables is None or ALL_TABLES in self.tables else self.tables


class ApiProbe(Frozen):
    """A request to a tool server, which gives `{"status": ..., "body": ...}` whatever the status is."""

    server: str
    """One of the suite's `servers` that speaks HTTP."""
    method: Literal["GET", "POST"] = "GET"
    """POST only where the server may be written to: a service, or `disposable`."""
    path: str = Field(pattern=r"^/[^{}\s]*$")
    """Below the server's address, the query included."""
    body: JsonValue = None
    """JSON body of a POST."""
    timeout_s: float = Field(default=30.0, gt=0)
    """Seconds within which the server must have answered."""


class StateProbe(Frozen):
    """A read that the harness itself makes after the agent has ended, stored as evidence under `name`.

    It passes the gateway like any call (replayed from the cassette by the state after the agent's writes), and is not a
    step of the agent. Exactly one of `tool`, `sql` and `api`.
    """

    name: str
    """Name that checks refer to."""
    tool: str | None = None
    """A tool of the suite with effect: read."""
    arguments: JsonObject = {}
    """Of the tool."""
    sql: SqlProbe | None = None
    """Rows of a database."""
    api: ApiProbe | None = None
    """A request to a tool server."""

    @field_validator("name")
    @classmethod
    def _has_one(cls, value: str) -> str:
        if not value:
            raise ValueError("a probe needs a name")
        return value

    @model_validator(mode="after")
    def _one_kind(self) -> "StateProbe":
        given = [name for name in ("tool", "sql", "api") if getattr(self, name) is not None]
        if len(given) != 1:
            raise ValueError("needs exactly one of `tool`, `sql` and `api`")
        if self.arguments and self.tool is None:
            raise ValueError("`arguments` are a tool's")
        return self
