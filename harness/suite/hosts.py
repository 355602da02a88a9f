"""A host of the outside world that the agent calls by itself, over HTTP or HTTPS."""

import re
from fnmatch import fnmatchcase
from typing import Literal

from pydantic import Field, JsonValue, field_validator, model_validator

from harness.suite.tools import POINTER, Effect, Rate, VolatilePart
from harness.values import Frozen


class Reset(Frozen):
    """A request to the server (`path`), or a program that is run on this machine (`command`); exactly one of them.

    Trials of a suite that resets a server run one after the other: a reset would change the server under the others.
    """

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"] = "POST"
    """Of the request."""
    path: str | None = Field(default=None, pattern="^/")
    """Put behind the server's `base_url`; the server's `headers` are sent. A status below 300 counts as done; a
    redirect, which is not followed, does not."""
    body: JsonValue = None
    """Sent as JSON; None: no body."""
    command: tuple[str, ...] = ()
    """Run in the suite's folder with PATH, HOME and the locale of this environment; status 0 counts as done."""
    timeout_s: float = Field(default=60.0, gt=0)
    """Seconds within which it must be done."""

    @model_validator(mode="after")
    def _one_way(self) -> "Reset":
        if (self.path is None) == (not self.command):
            raise ValueError("needs exactly one of `path` (a request) and `command` (a program)")
        return self


_NAME = r"^[a-z0-9_]([a-z0-9_-]{0,62})(\.[a-z0-9_]([a-z0-9_-]{0,62}))*$"
_ADDRESS = re.compile(r"^[0-9.]+$")
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_GATEWAY_PORT = 8700


class HostSpec(Frozen):
    """One host. Its requests are recorded, replayed, limited and traced like the calls of a tool `http:<host>`.

    Without `base_url` and `service`, live requests go to the host itself.
    """

    host: str = Field(pattern=_NAME, max_length=253)
    """The host name that the agent uses, in lower case; neither a pattern nor an IP address."""
    ports: tuple[int, ...] = (80, 443)
    """Ports that the agent may connect to."""
    base_url: str | None = None
    """An address that live requests go to instead; the request's path is put behind it."""
    service: str | None = None
    """A service of the environment that answers in place of the host."""
    session_header: str | None = None
    """Carries the trial's id, so that trials that share a service do not share its state."""
    state: str | None = None
    """Name of the state that its requests read and write; see ToolServer.state."""
    headers: dict[str, str] = {}
    """Set on every live request; `${NAME}` takes the environment variable NAME, which must be in `secrets`."""
    disposable: bool = False
    """States that the host's state may be discarded; live writes are allowed only then."""
    double: bool = False
    """States that a double answers in place of the real host; see ToolServer.double."""
    command: tuple[str, ...] = ()
    """A program that serves `base_url`, started for each live run; see ToolServer.command."""
    reset: Reset | None = None
    """As of a server; a request needs `base_url`."""
    reads: tuple[str, ...] = ()
    """Patterns of requests that only read, such as `POST /search*`, or `/search*` for every method; `*` also matches
    slashes. `POST /graphql#login` is a GraphQL operation by its name."""
    writes: tuple[str, ...] = ()
    """Patterns of requests that write; they come before `reads`. GET, HEAD and OPTIONS read if no pattern fits, and all
    others write; at a path with a segment `graphql`, a query reads and a mutation writes. A request with a field that
    overrides its method or its address writes."""
    ignore: tuple[str | VolatilePart, ...] = ()
    """What is left out of the cassette key, as `ignore` of a tool whose arguments are those in the trace: `/query/ts`,
    `/headers/x-nonce`, `/cookies/visit`, `/form/csrf`, `/json/request_id`, `{at: /url, regex: ...}`. Names of headers
    are in lower case."""
    volatile: tuple[str, ...] = ()
    """JSON pointers to what changes in the answers' bodies by itself; see ToolSpec.volatile."""
    rate_limit: Rate | None = None
    """The rate limit of calls to the live host (`20/s`, `100/60s`). None sets no limit."""
    timeout_s: float = Field(default=60.0, gt=0)
    """For the answer to begin, and between its pieces."""

    @field_validator("host")
    @classmethod
    def _is_name(cls, value: str) -> str:
        if _ADDRESS.match(value) or value == "localhost" or value.endswith(".localhost"):
            raise ValueError(f"{value!r} is the sandbox itself or an address; a name is needed")
        return value

    @field_validator("ports")
    @classmethod
    def _are_ports(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        for port in value:
            if not 0 < port < 65536 or port == _GATEWAY_PORT:
                raise ValueError(f"port {port} cannot be one of a host's here")
        return value

    @model_validator(mode="after")
    def _has_one_place(self) -> "HostSpec":
        if self.base_url is not None and self.service is not None:
            raise ValueError("a host has at most one of `base_url` and `service`")
        if self.command and self.base_url is None:
            raise ValueError("`command` needs `base_url`: the address that it serves")
        if self.reset is not None and self.reset.path is not None and self.base_url is None:
            raise ValueError("a `reset` by request needs `base_url`: the address that it is sent to")
        return self

    @property
    def tool(self) -> str:
        """The name that its requests have in traces and cassettes, and in a case's lists of tools."""
        return f"http:{self.host}"

    @field_validator("ignore")
    @classmethod
    def _names_parts(cls, value: tuple[str | VolatilePart, ...]) -> tuple[str | VolatilePart, ...]:
        for rule in value:
            if isinstance(rule, str) and not re.match(POINTER, rule):
                raise ValueError(f"expected a JSON pointer, which begins with /, found {rule!r}")
        return value

    def effect_of(self, method: str, path: str) -> Effect:
        return self.declared(method, path) or ("read" if method in _READING else "write")

    def declared(self, method: str, path: str) -> Effect | None:
        """What a pattern says; one for a GraphQL operation, `path#name`, fits only that."""
        rules: tuple[tuple[Effect, tuple[str, ...]], ...] = (("write", self.writes), ("read", self.reads))
        for effect, patterns in rules:
            if any(("#" in one) == ("#" in path) and _fits(one, method, path) for one in patterns):
                return effect
        return None


def _fits(pattern: str, method: str, path: str) -> bool:
    """A pattern without a method fits requests of every method."""
    named, separator, rest = pattern.partition(" ")
    return fnmatchcase(path, rest) and named == method if separator else fnmatchcase(path, pattern)
