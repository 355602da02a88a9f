"""Records of a file of conversations: one object, a list of them, JSON lines, or the messages of one conversation."""

from collections.abc import Callable, Iterator

from harness.errors import InvalidDocument
from harness.ingest.found import Source
from harness.ingest.reading import LINES, Record, kind_of, read_lines
from harness.values import JsonObject, JsonValue

IsMessage = Callable[[JsonObject], bool]


def conversations_of(source: Source, is_message: IsMessage) -> Iterator[tuple[str, Record]]:
    """(name, record) of each conversation; messages without a record around them are one, under `messages`.

    A logged request (`request`, or `body` in files of a batch) is opened: its fields are the record's.
    """
    if source.path.suffix in LINES:
        records = [(f"line {number}", source.whole(value, line=number)) for number, value in read_lines(source.path)]
    else:
        document = source.document()
        if not isinstance(document, list):
            yield "record 0", _opened(source.whole(document))
            return
        records = [(f"record {number}", source.whole(value, str(number))) for number, value in enumerate(document)]
    if records and is_message(records[0][1].data):
        yield "record 0", _conversation(source, [record for _, record in records], is_message)
        return
    for name, record in records:
        yield name, _opened(record)


def _conversation(source: Source, messages: list[Record], is_message: IsMessage) -> Record:
    for message in messages:
        if not is_message(message.data):
            raise message.refusal("", "is no message, and stands among messages")
    given: list[JsonValue] = [message.data for message in messages]
    return source.whole({"messages": given})


def _opened(record: Record) -> Record:
    request = record.record("request", "body")
    if request is None:
        return record
    around = {name: value for name, value in record.data.items() if name not in ("request", "body")}
    return Record(path=record.path, data={**request.data, **around}, at=record.at, line=record.line)


def missing_messages(record: Record) -> InvalidDocument:
    """The refusal of a record that holds no conversation."""
    found = record.data.get("messages")
    what = "holds no messages" if isinstance(found, list) else f"is {kind_of(found)}, not a list of messages"
    remedy = "give the messages (objects with `role` and `content`) under `messages`, or choose the format of the file"
    return record.refusal("messages", what, remedy)
