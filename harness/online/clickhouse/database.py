"""One connection to ClickHouse by clickhouse-connect: over HTTP, or to chdb inside of the process."""

import logging
import os
from collections.abc import Mapping, Sequence
from functools import cached_property, partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import SplitResult, urlsplit

from harness.distribution import extra_remedy
from harness.errors import HarnessError, ResultsError, UsageError
from harness.online.clickhouse.tables import TABLES, Table, add_columns, create_table
from harness.online.settings import ClickHouseSettings

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client
    from urllib3 import PoolManager

_CONNECT_S: Final = 10
_ANSWER_S: Final = 300
_MAP: Final = "Map("
TTL_REMEDY: Final = "give the tables in ClickHouse a TTL"


class ClickHouseUnavailable(ResultsError):
    """ClickHouse did not answer, or refused; what was to be written is kept."""


class Database:
    """The tables of one `clickhouse:` section. Connects when it is first asked."""

    def __init__(self, settings: ClickHouseSettings) -> None:
        """Raises UsageError where the extra `clickhouse` is missing, or the variable of the password is not set."""
        self.settings = settings
        self._password = _password(settings)
        try:
            import clickhouse_connect
        except ImportError:
            raise UsageError("ClickHouse needs the extra `clickhouse`", remedy=extra_remedy("clickhouse")) from None
        self._connect = clickhouse_connect.get_client

    def table(self, table: Table) -> str:
        """The quoted name of a table."""
        name = self.settings.traces if table == "traces" else self.settings.logs
        return f"`{self.settings.database}`.`{name}`"

    @cached_property
    def _client(self) -> "Client":
        logging.getLogger("clickhouse_connect").addHandler(logging.NullHandler())  # else it prints tracebacks
        address = urlsplit(self.settings.url)
        if address.scheme == "chdb":
            if find_spec("chdb") is None:
                words = "`url: chdb:` in online.yaml, ClickHouse inside of the process, needs the extra `chdb`"
                raise UsageError(words, remedy=extra_remedy("chdb"))
            return self._connect(interface="chdb", path=address.path or ":memory:")
        return self._connect(
            interface=address.scheme,
            host=address.hostname or "",
            port=address.port or (8443 if address.scheme == "https" else 8123),
            username=self.settings.user,
            password=self._password,
            connect_timeout=_CONNECT_S,
            send_receive_timeout=_ANSWER_S,
            autogenerate_session_id=False,
            pool_mgr=_without_redirects(address),
        )

    def ask(self, query: str, values: Mapping[str, Any]) -> Sequence[Sequence[Any]]:
        """The rows of a query; values stand in it as `{name:Type}`. Raises ClickHouseUnavailable."""
        try:
            return self._client.query(query, parameters=dict(values)).result_rows
        except Exception as error:
            raise self._unavailable(error) from error

    def do(self, statement: str, values: Mapping[str, Any] | None = None) -> None:
        """Executes a statement. Raises ClickHouseUnavailable."""
        try:
            self._client.command(statement, parameters=dict(values or {}))
        except Exception as error:
            raise self._unavailable(error) from error

    def insert(self, table: Table, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Inserts rows; returns when ClickHouse has taken them. Raises ClickHouseUnavailable."""
        settings = {"max_partitions_per_insert_block": 0, "async_insert": 0}  # senders' clocks lie: many partitions
        name = self.settings.traces if table == "traces" else self.settings.logs
        try:
            self._client.insert(name, rows, column_names=columns, database=self.settings.database, settings=settings)
        except Exception as error:
            raise self._unavailable(error) from error

    def prepare(self) -> None:
        """Makes what the receiver writes to: the database, its tables and the added columns."""
        self.do(f"CREATE DATABASE IF NOT EXISTS `{self.settings.database}`")
        for table in TABLES:
            self.do(create_table(table, self.table(table)))
            self.do(add_columns(self.table(table)))

    def columns(self, table: Table) -> frozenset[str]:
        """The columns of a table; empty where there is none. Raises ResultsError for attributes that are not maps."""
        name = self.settings.traces if table == "traces" else self.settings.logs
        found = self.ask(
            "SELECT name, type FROM system.columns WHERE database = {database:String} AND table = {table:String}",
            {"database": self.settings.database, "table": name},
        )
        other = [kind for column, kind in found if column == "ResourceAttributes" and not kind.startswith(_MAP)]
        if other:
            raise ResultsError(
                f"{self.table(table)}: the column ResourceAttributes is of the type {other[0]}, not a map",
                remedy="export without `json: true`",
            )
        return frozenset(str(column) for column, _ in found)

    def _unavailable(self, error: Exception) -> HarnessError:
        if isinstance(error, HarnessError):
            return error
        lines = str(error).strip().splitlines()
        return ClickHouseUnavailable(
            f"ClickHouse at {self._shown_url()}: {(lines[0] if lines else type(error).__name__)[:300]}",
            remedy="see `clickhouse:` in online.yaml",
        )

    def _shown_url(self) -> str:
        address = urlsplit(self.settings.url)
        return f"{address.scheme}://{address.hostname or ''}{address.path}" + (
            f":{address.port}" if address.port else ""
        )


def _without_redirects(address: SplitResult) -> "PoolManager":
    """The driver's own connections, which follow no redirect: it would send rows to any server that one names."""
    from clickhouse_connect.driver.httputil import check_env_proxy, get_pool_manager

    proxy = check_env_proxy(address.scheme, address.hostname or "", address.port or 0)
    is_secure = address.scheme == "https"
    manager: PoolManager = get_pool_manager(
        http_proxy=None if is_secure else proxy, https_proxy=proxy if is_secure else None
    )
    manager.urlopen = partial(manager.urlopen, redirect=False)  # type: ignore[method-assign]  # no setting of the pool says so
    return manager


def _password(settings: ClickHouseSettings) -> str:
    if settings.password_variable is None:
        return ""
    found = os.environ.get(settings.password_variable)
    if found is None:
        raise UsageError(
            f"online.yaml: clickhouse.password_variable names {settings.password_variable}, which is not set",
            remedy="set it to the password",
        )
    return found
