"""A cassette: all recordings of one case, in one file of vcrpy's format, indexed by key and state.

vcrpy is used as a library. Its own lookup compares a call with every recording and takes seconds on a large cassette;
its patching is global to the process, which would mix the cassettes of parallel trials.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import yaml
from pydantic import TypeAdapter, ValidationError

from harness.cassettes.keys import CallKey, key_digest, varied, varying
from harness.cassettes.recordings import Kind, Recording, from_interaction, to_interaction
from harness.cassettes.redaction import Redactor
from harness.cassettes.volatility import Path as Steps
from harness.cassettes.volatility import ValueChange, changes, decoded
from harness.disk import UnusableEntry, read_plain_file, write_atomically
from harness.errors import CassetteError, InvalidDocument
from harness.suite.documents import read_plain, refuse_boundless_yaml
from harness.suite.problems import Location, first_words

if TYPE_CHECKING:
    from vcr.request import Request


FORMAT = 1
_YAML: type[Any] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MALFORMED = (yaml.YAMLError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError)
_REMEDY = "restore the file, or delete it and record the case again"


class Cassette:
    """The recordings of one case. Immutable: recording creates a new one (see `merge`)."""

    def __init__(self, recordings: Iterable[Recording] = (), written: frozenset[str] | None = None) -> None:
        """`written`: the states that the whole cassette writes to, of which this is a part."""
        self.recordings = tuple(sorted(recordings, key=lambda recording: recording.order))
        places: defaultdict[tuple[str, str], list[Recording]] = defaultdict(list)
        tools: defaultdict[str, list[Recording]] = defaultdict(list)
        for recording in self.recordings:
            places[recording.mark.key, recording.mark.state].append(recording)
            tools[recording.mark.tool].append(recording)
        self._places = dict(places)
        self._tools = dict(tools)
        self._varying: defaultdict[str, set[tuple[str, ...]]] = defaultdict(set)
        for recording in self.recordings:
            found = varying(recording.arguments) if recording.mark.kind == "http" else None
            if found is not None:
                self._varying[key_digest(recording.mark.tool, found[0], "http")].add(found[1])
        self._keys = {key for key, _ in places}
        self._kinds: dict[Kind, Cassette] = {}
        self._changing: dict[str, frozenset[Steps]] = {}
        made = (one.mark.state_name for one in self.recordings if one.mark.effect == "write")
        self.written = frozenset(made) if written is None else written
        """Names of the states that some recorded call writes to."""

    def __len__(self) -> int:
        return len(self.recordings)

    def resolved(self, call: CallKey, state: str) -> CallKey:
        """The call with the headers that the `Vary` of its recorded answers named."""
        others = (varied(call, names) for names in sorted(self._varying.get(call.key, ())))
        return next((other for other in others if self.answers(other.key, state)), call)

    def answers(self, key: str, state: str) -> list[Recording]:
        """The recordings of this call in this state, in recorded order."""
        return self._places.get((key, state), [])

    def only(self, kind: Kind) -> "Cassette":
        """The recordings of one kind; built once, because every trial of the case needs them."""
        if kind not in self._kinds:
            own = [recording for recording in self.recordings if recording.mark.kind == kind]
            self._kinds[kind] = self if len(own) == len(self) else Cassette(own, self.written)
        return self._kinds[kind]

    def of_tool(self, tool: str) -> list[Recording]:
        return self._tools.get(tool, [])

    def changing(self, tool: str) -> frozenset[Steps]:
        """If the tool's recorded answers to one call differ although nothing was written: a clock, a counter."""
        if tool not in self._changing:
            groups: defaultdict[tuple[str, str], list[Recording]] = defaultdict(list)
            for recording in self.of_tool(tool):
                groups[recording.mark.key, recording.mark.state].append(recording)
            found = (
                change.path
                for same in groups.values()
                for one, other in pairwise(same)
                if not one.answers_like(other)
                for change in _differences(one, other)
            )
            self._changing[tool] = frozenset(found)
        return self._changing[tool]

    def holds_key(self, key: str) -> bool:
        """Whether this call was recorded in any state."""
        return key in self._keys


def _differences(one: Recording, other: Recording) -> Iterator[ValueChange]:
    if one.status == other.status:
        yield from changes(decoded(one.body), decoded(other.body))
    else:
        yield ValueChange(path=(), before=one.status, after=other.status, same_shape=False)


def cassette_path(cassettes: Path, suite: str, case: str) -> Path:
    """The path of a case's cassette: YAML, or JSON, which opens faster.

    Raises CassetteError if both exist.
    """
    as_yaml, as_json = (cassettes / suite / f"{case}{ending}" for ending in (".yaml", ".json"))
    if as_yaml.exists() and as_json.exists():
        raise CassetteError(
            f"expected one cassette for the case, found {as_yaml} and {as_json}", remedy="delete one of them"
        )
    return as_json if as_json.exists() else as_yaml


def load_cassette(path: Path) -> Cassette:
    """The cassette in a file. Raises CassetteError that names file, line and field."""
    from vcr import serialize as vcr_format

    try:
        text = read_plain_file(path).decode("utf-8")
    except UnusableEntry as error:
        raise CassetteError(str(error), remedy="replace the entry by the cassette itself") from None
    except OSError as error:
        raise CassetteError(f"{path}: cannot be read: {error.strerror}", remedy=_REMEDY) from None
    except UnicodeDecodeError as error:
        raise CassetteError(f"{path}: is not UTF-8 (at byte {error.start})", remedy=_REMEDY) from None
    try:
        loaded = vcr_format.deserialize(text, _deserializer(path))
        pairs = list(zip(loaded[0], loaded[1], strict=True))
    except InvalidDocument as error:
        raise CassetteError(error.message, remedy=_REMEDY) from None
    except _MALFORMED as error:
        raise CassetteError(_load_problem(path, error), remedy=_REMEDY) from None
    _check_format(path, loaded[2] if len(loaded) > 2 else {})
    recordings = [_recording(path, index, *pair) for index, pair in enumerate(pairs)]
    _refuse_twins(path, recordings)
    return Cassette(recordings)


def refuse_secrets(path: Path, recordings: Iterable[Recording], redactor: Redactor) -> None:
    """Raises CassetteError if one of the recordings contains a known secret."""
    for recording in recordings:
        name = redactor.left_in(recording.texts())
        if name is not None:
            raise CassetteError(
                f"{path}: the recording of {recording.mark.tool}({recording.arguments}) contains the secret {name!r}",
                remedy="revoke the secret, which has leaked; delete the file and record the case again",
            )


def save_cassette(path: Path, cassette: Cassette, *, suite: str, case: str) -> None:
    """Writes the cassette at once: readers see the old file or the new one."""
    write_atomically(path, cassette_bytes(path, cassette, suite=suite, case=case))


def cassette_bytes(path: Path, cassette: Cassette, *, suite: str, case: str) -> bytes:
    """The file's content in the format of its suffix. Raises CassetteError for what JSON cannot hold."""
    from vcr import serialize as vcr_format

    if path.suffix == ".json":
        _refuse_binary(path, cassette)
    pairs = [to_interaction(recording) for recording in cassette.recordings]
    content: str = vcr_format.serialize(
        {
            "requests": [request for request, _ in pairs],
            "responses": [response for _, response in pairs],
            "metadata": {"harness": {"format": FORMAT, "suite": suite, "case": case}},
        },
        _serializer(path),
    )
    return content.encode("utf-8")


def _refuse_binary(path: Path, cassette: Cassette) -> None:
    for recording in cassette.recordings:
        try:
            recording.body.decode("utf-8")
        except UnicodeDecodeError:
            raise CassetteError(
                f"{path}: expected text, found a binary answer to {recording.mark.tool}({recording.arguments})",
                remedy="a cassette with binary answers has to be YAML",
            ) from None


def lines_of(path: Path) -> dict[Location, int]:
    """The line on which each part of the file starts; empty if the format's parser reports no lines."""
    try:
        return read_plain(path)[1]
    except InvalidDocument:
        return {}


def _serializer(path: Path) -> ModuleType:
    from vcr.serializers import jsonserializer, yamlserializer

    serializer: ModuleType = jsonserializer if path.suffix == ".json" else yamlserializer
    return serializer


def _deserializer(path: Path) -> Any:
    return _serializer(path) if path.suffix == ".json" else _YamlReader(path)


class _YamlReader:
    """Reads YAML for vcrpy, without tags that name code."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def deserialize(self, text: str) -> Any:
        refuse_boundless_yaml(self._path, text)
        return yaml.load(text, Loader=_YAML)


def _check_format(path: Path, metadata: object) -> None:
    ours = metadata.get("harness") if isinstance(metadata, dict) else None
    version = ours.get("format") if isinstance(ours, dict) else None
    if version is not None and version != FORMAT:
        raise CassetteError(
            f"{path}: field 'metadata.harness.format': expected {FORMAT}, found {version!r}",
            remedy="use the harness that wrote it, or record the case again",
        )


def _recording(path: Path, index: int, request: "Request", response: dict[str, object]) -> Recording:
    try:
        return from_interaction(request, response)
    except ValidationError as error:
        at = _in_file(tuple(error.errors(include_url=False)[0]["loc"]))
        problem = first_words(error)[1]
    except (ValueError, AttributeError, TypeError, RecursionError) as error:
        at, problem = (), str(error)
    location: Location = ("interactions", index, *at)
    lines = lines_of(path)
    line = next((lines[location[:end]] for end in range(len(location), 0, -1) if location[:end] in lines), None)
    place = f"{path}" if line is None else f"{path}:{line}"
    field = ".".join(str(part) for part in location)
    raise CassetteError(f"{place}: field {field!r}: {problem}", remedy=_REMEDY)


def _in_file(location: Location) -> Location:
    """The location of a recording's field in the file."""
    match location:
        case ("mark", *rest):
            return ("response", "x-harness", *rest)
        case ("arguments", *_):
            return ("request", "body")
        case ("status", *_):
            return ("response", "status", "code")
        case ("body", *_):
            return ("response", "body", "string")
        case _:
            return ("response", *location)


def _refuse_twins(path: Path, recordings: list[Recording]) -> None:
    seen: dict[tuple[str, str, int], int] = {}
    for index, recording in enumerate(recordings):
        if recording.place in seen:
            raise CassetteError(
                f"{path}: field 'interactions.{index}': the same call, state and occurrence as "
                f"'interactions.{seen[recording.place]}'",
                remedy="delete one of the two",
            )
        seen[recording.place] = index


def _load_problem(path: Path, error: Exception) -> str:
    """Why vcrpy cannot load a file, in terms of this harness's own reader if that one finds the error too."""
    try:
        plain, lines = read_plain(path)
    except InvalidDocument as known:
        return known.message
    if not isinstance(plain, dict) or not isinstance(plain.get("interactions"), list):
        return f"{path}: field 'interactions': a list is expected"
    for index, item in enumerate(plain["interactions"]):
        for part, needed in (("request", {"method", "uri", "body", "headers"}), ("response", {"status", "body"})):
            found = item.get(part) if isinstance(item, dict) else None
            if not isinstance(found, dict) or not needed <= set(found):
                line = lines.get(("interactions", index), 0)
                place = f"{path}:{line}" if line else f"{path}"
                return f"{place}: field 'interactions.{index}.{part}': an object with {sorted(needed)} is expected"
    return f"{path}: stock vcrpy cannot load it: {type(error).__name__}: {error}"


# A derived copy of a large YAML cassette that opens in a fraction of the time; the cassette remains authoritative.
#
# It is stored in the project's `.harness/index/`, contains the digest of its cassette, and is rebuilt wherever it does
# not match: another cassette, another version of this harness, a truncated or changed file. It is written atomically,
# so that several processes may build it at the same time. Deleting it costs one slow load.

_FORMAT = b"harness cassette index 1"
_WORTH_BYTES = 128 * 1024
"""The size from which an index is worth it: a smaller cassette opens in less than a tenth of a second without one."""

_RECORDINGS: TypeAdapter[tuple[Recording, ...]] = TypeAdapter(tuple[Recording, ...])


def open_cassette(path: Path) -> Cassette:
    """Loads a cassette as `load_cassette` does, through the index if the cassette is large enough."""
    try:
        worth = path.suffix != ".json" and path.stat().st_size >= _WORTH_BYTES
        digest = _digest(path.read_bytes()) if worth else b""
    except OSError:
        worth, digest = False, b""  # `load_cassette` reports the error
    if not worth:
        return load_cassette(path)
    index = index_path(path)
    known = _recordings_in_index(index, digest)
    if known is not None:
        return Cassette(known)
    cassette = load_cassette(path)
    _write(index, digest, cassette)
    return cassette


def index_path(path: Path) -> Path:
    """The path of a cassette's index. Each cassette has one index, so that the index of an old version is replaced."""
    suite = path.absolute().parent
    return suite.parent.parent / ".harness" / "index" / suite.name / f"{path.name}.index"


def _recordings_in_index(index: Path, digest: bytes) -> tuple[Recording, ...] | None:
    """The content of the index; None if it belongs to another cassette, or is truncated."""
    try:
        form, cassette, own, content = index.read_bytes().split(b"\n", 3)
    except (OSError, ValueError):
        return None
    if (form, cassette, own) != (_FORMAT, digest, _digest(content)):
        return None
    try:
        return _RECORDINGS.validate_json(content)
    except ValidationError:
        return None


def _write(index: Path, digest: bytes, cassette: Cassette) -> None:
    content = _RECORDINGS.dump_json(cassette.recordings)
    try:
        write_atomically(index, b"\n".join((_FORMAT, digest, _digest(content), content)))
    except OSError:
        return  # a read-only project opens its cassettes without an index


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
