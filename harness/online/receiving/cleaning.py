"""Takes credentials out of records before anything of them is written, by what cassettes and importers know."""

from collections.abc import Mapping, Sequence
from typing import Final

from harness.ingest import Cleaner
from harness.online.record import RawRecord
from harness.values import JsonObject

_FRESH_AFTER: Final = 20_000
"""Records after which what the cleaner remembers is dropped, so that a stream does not grow it."""


class RecordCleaner:
    """Redacts records; `found` counts the texts and objects in which a credential stood."""

    def __init__(self, secrets: Mapping[str, str], key: str) -> None:
        """`secrets`: known values by name. `key`: of the store, for stable pseudonyms. Raises UsageError."""
        self._secrets = dict(secrets)
        self._key = bytes.fromhex(key)
        self._cleaner = self._made()
        self._seen = 0
        self._before = 0

    @property
    def found(self) -> int:
        return self._before + self._cleaner.found

    def clean(self, records: Sequence[RawRecord]) -> None:
        """Redacts records in place; the resource that records share is cleaned once."""
        _clean(records, self._cleaner)
        self._renew(len(records))

    def clean_apart(self, records: Sequence[RawRecord]) -> int:
        """The same in any thread; what was found, to be given to `count` by the thread that uses the rest."""
        cleaner = self._made()
        _clean(records, cleaner)
        return cleaner.found

    def count(self, found: int) -> None:
        self._before += found

    def _renew(self, seen: int) -> None:
        self._seen += seen
        if self._seen >= _FRESH_AFTER:
            self._before += self._cleaner.found
            self._cleaner, self._seen = self._made(), 0

    def _made(self) -> Cleaner:
        return Cleaner(self._secrets, key=self._key)


def _clean(records: Sequence[RawRecord], cleaner: Cleaner) -> None:
    resources: dict[int, JsonObject] = {}
    for record in records:
        resource = resources.get(id(record.resource))
        if resource is None:
            resource = resources[id(record.resource)] = cleaner.fields(record.resource)
            resources[id(resource)] = resource
        record.resource = resource
        record.attributes = cleaner.fields(record.attributes)
        record.events = [cleaner.fields(event) for event in record.events]
        record.name = cleaner.text(record.name)
