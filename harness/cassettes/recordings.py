"""One recorded call and its answer, and its form in a file of vcrpy's format.

Our own data goes to `response["x-harness"]`, which stock vcrpy loads, ignores and keeps when it saves. No time is
stored: recording the same interaction again produces the same bytes.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote, urlencode

from pydantic import ConfigDict, Field, JsonValue

from harness.suite.models import Provenance
from harness.suite.tools import Effect
from harness.values import Frozen, JsonObject, canonical_json

if TYPE_CHECKING:
    from vcr.request import Request


# Secrets, and the parts that the suite excludes from the key, are missing; a body that was stored as a digest cannot be
# rebuilt.


@dataclass(frozen=True, kw_only=True)
class SentRequest:
    """The request as an HTTP client would have sent it."""

    method: str
    uri: str
    headers: Mapping[str, str]
    body: str | None


def sent_request(arguments: str) -> SentRequest | None:
    """The request in the canonical JSON of a call to a host; None: the JSON describes no request."""
    asked = json.loads(arguments)
    if not isinstance(asked, dict) or not isinstance(asked.get("url"), str):
        return None
    stored, cookies = asked.get("headers"), asked.get("cookies")
    headers = {name: str(value) for name, value in stored.items()} if isinstance(stored, dict) else {}
    if isinstance(cookies, dict):
        headers["cookie"] = _encoded_pairs(cookies, plus=False).replace("&", "; ")
    kind, body = _content_type_and_body(asked)
    return SentRequest(
        method=str(asked.get("method")),
        uri=str(asked["url"]) + _query(asked.get("query")),
        headers=({} if kind is None else {"content-type": kind}) | headers,
        body=body,
    )


def _query(query: JsonValue) -> str:
    match query:
        case dict():
            return "?" + _encoded_pairs(query, plus=False)
        case str():
            return f"?{query}"
        case _:
            return ""


def _content_type_and_body(asked: JsonObject) -> tuple[str | None, str | None]:
    """Content type and body."""
    form = asked.get("form")
    if "json" in asked:
        return "application/json", canonical_json(asked["json"])
    if isinstance(form, dict):
        return "application/x-www-form-urlencoded", _encoded_pairs(form, plus=True)
    text = asked.get("text")
    return None, text if isinstance(text, str) else None


def _encoded_pairs(values: JsonObject, *, plus: bool) -> str:
    pairs = [
        (name, str(one)) for name, value in values.items() for one in (value if isinstance(value, list) else [value])
    ]
    return urlencode(pairs) if plus else urlencode(pairs, quote_via=quote)


Outcome = Literal["answer", "timeout", "reset"]
"""`timeout` and `reset`: the tool gave no answer; the body is empty."""

Kind = Literal["tool", "model", "http", "probe"]
"""The kind of call: to a tool of the suite, to a model, to an address that the agent requested itself, or the harness's
own read of a database or an API.
"""

_HEX = r"^[0-9a-f]{32}$"


class Mark(Frozen):
    """The `x-harness` part of a response."""

    server: str
    tool: str
    effect: Effect
    key: str = Field(pattern=_HEX)
    state: str = Field(pattern=_HEX)
    writes: int = Field(ge=0)
    """How many writes were made before to the same state: the length of the chain that `state` is the hash of."""
    shared: str = ""
    """The name of the state, if it differs from the server's."""
    elsewhere: int | None = None
    """How many writes were made before to other states that the server may share. None: such writes have no effect."""
    occurrence: int = Field(ge=0)
    """The number of earlier calls with the same arguments in this state."""
    outcome: Outcome = "answer"
    kind: Kind = "tool"
    provenance: Provenance = "service"
    """The source of the answer."""

    @property
    def state_name(self) -> str:
        """The name of the state that the call met."""
        return self.shared or self.server

    @property
    def follows_no_write(self) -> bool:
        """Whether nothing was written before that the answer could depend on."""
        return not self.writes and not self.elsewhere


class Recording(Frozen):
    """A call and its result, without secrets."""

    model_config = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    mark: Mark
    arguments: str
    """Canonical JSON, the input of the key."""
    status: int = Field(ge=100, le=999)
    headers: dict[str, str] = {}
    """The stored response headers, in lower case."""
    body: bytes = b""

    @property
    def place(self) -> tuple[str, str, int]:
        """The identity of the recording on a cassette."""
        return self.mark.key, self.mark.state, self.mark.occurrence

    @property
    def order(self) -> tuple[str, int, str, str, str, str, int]:
        """The sort key of the recording in the file: it depends on the content only, not on the order of recording."""
        mark = self.mark
        return mark.server, mark.writes, mark.state, mark.tool, self.arguments, mark.key, mark.occurrence

    def answers_like(self, other: "Recording") -> bool:
        """Whether both give the agent the same answer, whatever their provenance."""
        return (self.mark.outcome, self.status, self.body) == (other.mark.outcome, other.status, other.body)

    def with_provenance(self, provenance: Provenance) -> "Recording":
        """The same recording with this provenance."""
        return self.model_copy(update={"mark": self.mark.model_copy(update={"provenance": provenance})})

    @property
    def fingerprint(self) -> str:
        """The first 16 hexadecimal digits of a SHA-256 over the call and its answer.

        The recorder writes it beside the provenance; if it does not match, the recording was changed afterwards. It is
        not a signature: anybody can compute it.
        """
        parts = (self.mark.tool, self.arguments, self.mark.state, self.mark.outcome, str(self.status))
        content = "\0".join(parts).encode("utf-8", "surrogatepass") + b"\0" + self.body
        return hashlib.sha256(content).hexdigest()[:16]

    def texts(self) -> tuple[str, ...]:
        """All stored texts that could contain a secret."""
        return (
            self.mark.server,
            self.mark.tool,
            self.arguments,
            *self.headers.values(),
            self.body.decode("utf-8", "surrogateescape"),
        )


def to_interaction(recording: Recording) -> tuple["Request", dict[str, Any]]:
    """The recording as vcrpy's request and response; every part is a copy, because vcrpy modifies the objects that it
    serialises.

    A request to a host is stored as it was made, so that stock vcrpy returns its answer to the client that made it; the
    input of the key is then in `x-harness`.
    """
    from vcr.request import Request

    marked = _mark_fields(recording)
    sent = sent_request(recording.arguments) if recording.mark.kind == "http" else None
    response = {
        "status": {"code": recording.status, "message": status_phrase(recording.status)},
        "headers": {name: value.split("\n") for name, value in recording.headers.items()},
        "body": {"string": recording.body},
        "x-harness": marked if sent is None else marked | {"arguments": recording.arguments},
    }
    if sent is not None:
        return Request(sent.method, sent.uri, sent.body, dict(sent.headers)), response
    headers = {"content-type": "application/json"}
    return Request("POST", logical_uri(recording.mark), recording.arguments, headers), response


def from_interaction(request: "Request", response: dict[str, Any]) -> Recording:
    """Raises ValueError (pydantic's, with the place) if the interaction is not one that this harness recorded."""
    body = request.body
    content = response.get("body")
    status = response.get("status")
    mark = response.get("x-harness")
    stated, fingerprint = (mark.get(name) if isinstance(mark, dict) else None for name in _BESIDE_MARK)
    asked = body.decode() if isinstance(body, bytes) else body
    recording = Recording.model_validate(
        {
            "mark": {name: value for name, value in mark.items() if name not in _BESIDE_MARK}
            if isinstance(mark, dict)
            else mark,
            "arguments": asked if stated is None else stated,
            "status": status.get("code") if isinstance(status, dict) else status,
            "headers": {name.lower(): _single(values) for name, values in (response.get("headers") or {}).items()},
            "body": content.get("string") if isinstance(content, dict) else content,
        }
    )
    json.loads(recording.arguments)  # the comparison of calls parses it
    sent = None if stated is None else sent_request(recording.arguments)
    wanted = logical_uri(recording.mark) if sent is None else sent.uri
    if request.uri != wanted:
        raise ValueError(f"request.uri: expected {wanted!r} as in x-harness, found {request.uri!r}")
    return recording if fingerprint == recording.fingerprint else recording.with_provenance("hand")


def mark_in_file(stated: dict[str, Any]) -> Mark:
    """The mark that `x-harness` holds. Raises ValueError."""
    return Mark.model_validate({name: value for name, value in stated.items() if name not in _BESIDE_MARK})


def logical_uri(mark: Mark) -> str:
    """An address that no port, host or run is part of, and that nothing can reach."""
    return f"http://{_host(mark.server, mark.kind)}/{mark.tool}"


@lru_cache(maxsize=256)  # a cassette has thousands of recordings of a few servers
def _host(server: str, kind: Kind) -> str:
    return f"{quote(server.removeprefix(f'{kind}:'), safe='').lower()}.{kind}.invalid"


_UNSET = ("kind", "shared", "elsewhere")
_BESIDE_MARK = ("arguments", "fingerprint")
"""The fields of `x-harness` besides those of the mark."""


def _mark_fields(recording: Recording) -> dict[str, Any]:
    """Omits fields that only other kinds have, so that cassettes of tools stay unchanged."""
    mark = recording.mark
    unset = {name for name in _UNSET if getattr(mark, name) == Mark.model_fields[name].default}
    marked = mark.model_dump(mode="json", exclude=unset)
    return marked if mark.provenance == "hand" else marked | {"fingerprint": recording.fingerprint}


def _single(values: object) -> object:
    return "\n".join(values) if isinstance(values, list) and all(isinstance(one, str) for one in values) else values


def status_phrase(status: int) -> str:
    """The words of an HTTP status; empty for one that is not registered."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return ""
