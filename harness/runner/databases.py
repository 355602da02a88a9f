"""Runs the state probes on SQLite files that the agent left in its sandbox, in the same way in every tool mode.

A probe returns `{"unmeasurable": reason}` where a database cannot be read within the limits because of the agent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.case import SqlProbe, StateProbe
from harness.errors import SnapshotError
from harness.sandbox import (
    QueryFailed,
    SandboxProvider,
    Snapshot,
    SqliteReader,
    Table,
    Unmeasurable,
    changes,
    left_parts,
    snapshot_parts,
)
from harness.values import JsonObject, JsonValue

_Known = dict[tuple[str, str, tuple[str, ...]], Mapping[str, Table]]


@dataclass(frozen=True, kw_only=True)
class FileProbes:
    """Runs queries in sandboxes of the run's own provider; the content of a snapshot is read once for all trials."""

    provider: SandboxProvider
    _in_snapshot: _Known = field(default_factory=dict)

    def states(
        self, probes: Sequence[StateProbe], snapshot: Snapshot, archive: Path, trial_id: str
    ) -> dict[str, JsonValue]:
        """Maps each probe's name to the value that it read after a trial that started from `snapshot`.

        Raises SandboxError, and SnapshotError where a file of the snapshot is not a database.
        """
        asked = {probe.name: probe.sql for probe in probes if probe.sql is not None and probe.sql.file is not None}
        if not asked or not archive.exists():
            return {}
        reader = SqliteReader(provider=self.provider, image=snapshot.image, name=trial_id)
        return {name: self._state(sql, snapshot, archive, reader) for name, sql in asked.items()}

    def _state(self, sql: SqlProbe, snapshot: Snapshot, archive: Path, reader: SqliteReader) -> JsonObject:
        before = self._snapshot_tables(sql, snapshot, reader) if sql.query is None else {}
        try:
            left = left_parts(snapshot, archive, sql.path)
            if sql.query is None:
                after = reader.tables(left, sql.wanted, sql.timeout_s) if "" in left else {}
                return {"tables": changes(before, after, sql.ignore)}
            if "" not in left:
                return {"error": f"there is no database {sql.path}"}
            return {"rows": reader.rows(left, sql.query, sql.timeout_s)}
        except QueryFailed as refused:
            return {"error": str(refused)}
        except Unmeasurable as reason:
            return {"unmeasurable": str(reason)}

    def _snapshot_tables(self, sql: SqlProbe, snapshot: Snapshot, reader: SqliteReader) -> Mapping[str, Table]:
        key = (snapshot.digest, sql.path, sql.wanted)
        if key not in self._in_snapshot:
            parts = snapshot_parts(snapshot, sql.path)
            try:
                self._in_snapshot[key] = reader.tables(parts, sql.wanted, sql.timeout_s) if "" in parts else {}
            except (QueryFailed, Unmeasurable) as problem:
                raise SnapshotError(
                    f"snapshot {snapshot.name!r}: the database {sql.path} cannot be read: {problem}",
                    remedy="build the snapshot with no program using the database, or correct the probe's `sql.file`",
                ) from None
        return self._in_snapshot[key]
