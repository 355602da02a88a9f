"""SQLite files that the agent left in its sandbox, asked as the probes say; the same in every tool mode."""

from collections.abc import Sequence
from pathlib import Path

from harness.case import SqlProbe, StateProbe
from harness.frozen import JsonObject, JsonValue
from harness.sandbox.snapshot import Snapshot
from harness.sandbox.sql.files import NotKept, left_database, sealed_database
from harness.sandbox.sql.sqlite import rows_in, tables_in
from harness.sandbox.sql.tables import QueryFailed, Table, changes


def states_of_files(probes: Sequence[StateProbe], snapshot: Snapshot, archive: Path) -> dict[str, JsonValue]:
    """Probe name -> what it read; a file that was too large to be kept is left out."""
    found: dict[str, JsonValue] = {}
    for probe in probes:
        if probe.sql is not None and probe.sql.file is not None and archive.exists():
            told = _state(probe.sql, snapshot, archive)
            if told is not None:
                found[probe.name] = told
    return found


def _state(sql: SqlProbe, snapshot: Snapshot, archive: Path) -> JsonObject | None:
    try:
        with left_database(snapshot, archive, sql.path) as left:
            if sql.query is None:
                return {"tables": changes(_sealed_tables(sql, snapshot), _tables(left, sql), sql.ignore)}
            return {"error": f"there is no database {sql.path}"} if left is None else {"rows": rows_in(left, sql.query)}
    except QueryFailed as refused:
        return {"error": str(refused)}
    except NotKept:
        return None


def _sealed_tables(sql: SqlProbe, snapshot: Snapshot) -> dict[str, Table]:
    with sealed_database(snapshot, sql.path) as sealed:
        return _tables(sealed, sql)


def _tables(file: Path | None, sql: SqlProbe) -> dict[str, Table]:
    return {} if file is None else tables_in(file, sql.wanted)
