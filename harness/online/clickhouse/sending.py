"""What the receiver took is sent from its journal to ClickHouse; a segment goes when ClickHouse has taken all of it.

While ClickHouse does not answer, segments are kept and sent again in the next round. A segment that was sent, and not
yet removed when the receiver was killed, is sent twice; the engine counts a record that is stored twice as one.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from harness.online.clickhouse.database import Database
from harness.online.clickhouse.rows import LOG_COLUMNS, TRACE_COLUMNS, log_row, trace_row
from harness.online.compaction import Compactor
from harness.online.record import COLUMNS, StoredRecord
from harness.online.storage.deletion import deletion_filter
from harness.online.storage.engine import connect, parquet
from harness.online.storage.index import index_path
from harness.online.storage.layout import StoreLayout, part_ranges, remove
from harness.online.storage.segment import check_readable, journal_lines

_ROWS: Final = 2_000


class RecordSender:
    """Empties a store's journal, and parts of earlier days, into ClickHouse."""

    def __init__(self, layout: StoreLayout, database: Database) -> None:
        self._layout = layout
        self._database = database
        self._compactor = Compactor(layout)
        self._is_prepared = False
        self.sent = 0
        """Records that ClickHouse took."""

    def send(self, ended: Sequence[tuple[int, Path]]) -> int:
        """Sends the segments that are not written any more, oldest first; how many files it was.

        Raises ClickHouseUnavailable, and ResultsError for a damaged segment: what was not taken is kept.
        """
        files = 0
        with self._compactor.alone():
            for _, _, path in part_ranges(self._layout.parts):
                self._send(parquet([path]))
                remove([path])
                remove([index_path(path)])
                files += 1
            for _, path in ended:
                if path.is_file() and path.stat().st_size:
                    check_readable(path)
                    self._send(journal_lines([path]))
                    files += 1
                remove([path])
        self._compactor.purge()
        return files

    def _send(self, source: str) -> None:
        if not self._is_prepared:
            self._database.prepare()
            self._is_prepared = True
        query = f"SELECT {', '.join(COLUMNS)} FROM {source} WHERE {deletion_filter(self._layout.deleted)}"
        with connect() as connection:
            asked = connection.execute(query)
            while rows := asked.fetchmany(_ROWS):
                self._insert([StoredRecord(*row) for row in rows])

    def _insert(self, records: Sequence[StoredRecord]) -> None:
        spans = [trace_row(one) for one in records if one.kind == "span"]
        logs = [log_row(one) for one in records if one.kind == "log"]
        if spans:
            self._database.insert("traces", TRACE_COLUMNS, spans)
        if logs:
            self._database.insert("logs", LOG_COLUMNS, logs)
        self.sent += len(records)
