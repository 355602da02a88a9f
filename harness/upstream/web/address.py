"""The destination of an agent's request: from its target, its Host header, or its connection."""

import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote, urlsplit

from harness.upstream.refusal import Refusal

Scheme = Literal["http", "https"]
PORTS: dict[Scheme, int] = {"http": 80, "https": 443}
_AUTHORITY = re.compile(r"^(?P<host>[^\s:@/?#\[\]]+|\[[0-9A-Fa-f:.]+\])(:(?P<port>[0-9]{1,5}))?$")
_UNSAFE = re.compile(r"[\x00-\x20\x7f\\]")


@dataclass(frozen=True, kw_only=True)
class HostPort:
    """A host and a port; the port 0 stands for the unknown port of a connection."""

    scheme: Scheme
    host: str
    port: int

    def covers(self, other: "HostPort") -> bool:
        """Whether a connection to this place may carry requests for the other."""
        return self.host == other.host and self.port in {0, other.port}

    @property
    def origin(self) -> str:
        """The origin of the URL; a default port is left out."""
        return f"{self.scheme}://{self.host}" + ("" if self.port == PORTS[self.scheme] else f":{self.port}")


@dataclass(frozen=True, kw_only=True)
class Address:
    """A destination with path and query as they were sent, undecoded."""

    place: HostPort
    path: str
    query: str

    @property
    def target(self) -> str:
        return self.path if not self.query else f"{self.path}?{self.query}"


def place_of(authority: str, scheme: Scheme) -> HostPort | None:
    """Parses `host` or `host:port`. None: the text is neither."""
    found = _AUTHORITY.match(authority)
    if found is None:
        return None
    port = PORTS[scheme] if found["port"] is None else int(found["port"])
    host = found["host"].lower().rstrip(".")
    return HostPort(scheme=scheme, host=host, port=port) if host and 0 < port < 65536 else None


def is_absolute(target: str) -> bool:
    """Whether a request's target is an absolute URL, as in requests to proxies."""
    return target[:8].lower().startswith(("http://", "https://"))


def absolute_address(target: str) -> Address:
    """Parses an absolute URL, without its user and password. Raises Refusal for one without a valid destination."""
    try:
        parts = urlsplit(target)
    except ValueError:
        raise _no_address(target) from None
    scheme: Scheme = "https" if parts.scheme.lower() == "https" else "http"
    place = place_of(parts.netloc.rpartition("@")[2], scheme)
    if place is None:
        raise _no_address(target)
    return address_at(place, (parts.path or "/") + (f"?{parts.query}" if parts.query else ""))


def address_at(place: HostPort, target: str) -> Address:
    """A path with its query at a place. Raises Refusal for a path that leaves its root."""
    path, _, query = target.partition("#")[0].partition("?")
    if not path.startswith("/") or _UNSAFE.search(target) or _climbs(path):
        raise _no_address(target)
    return Address(place=place, path=path, query=query)


def _climbs(path: str) -> bool:
    # Decoded twice: the path must not leave its root when the next server decodes it once more, either.
    decoded = unquote(unquote(path)).replace("\\", "/")
    return any(part.partition(";")[0] in {".", ".."} for part in decoded.split("/")) or "\x00" in decoded


def _no_address(target: str) -> Refusal:
    return Refusal(400, "bad_request", f"{target[:200]!r} is not an address that a request can go to")
