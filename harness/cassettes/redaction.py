"""Removes secrets from data before it is stored, and detects remaining ones.

Known values (the suite's `secrets`) become `<secret:NAME>` wherever they occur, in every form of `secret_forms`. Values
of fields that are secret by their name become `<secret:field:digits>`: the digits distinguish two values, because two
different passwords are two different calls, and are slow to compute, so that a weak password cannot be guessed from
them. A pseudonym is left unchanged: an agent that received one in a replay and sends it back makes the recorded call.
"""

import hashlib
import hmac
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from uuid import UUID

from pydantic import JsonValue

from harness.cassettes.secret_search import FIELD_PSEUDONYM, SecretSearch, encoded, search_for
from harness.cassettes.split_secrets import pseudonym_of, without_split
from harness.errors import UsageError
from harness.values import canonical_json, compact_json, is_canonical, plain_name, sorted_json, spaced_json

_SECRET_FIELDS = frozenset(
    {
        "accesskey",
        "accesstoken",
        "apikey",
        "apisecret",
        "authenticitytoken",
        "authorization",
        "authtoken",
        "bearertoken",
        "clientsecret",
        "cookie",
        "csrf",
        "csrfmiddlewaretoken",
        "csrftoken",
        "idtoken",
        "passphrase",
        "passwd",
        "password",
        "privatekey",
        "refreshtoken",
        "secret",
        "secretkey",
        "sessiontoken",
        "setcookie",
        "token",
        "xapikey",
        "xsrftoken",
    }
)
_STEMS = ("token", "secret", "cookie", "csrf", "authorization", "key", "pass")
"""Each of the fields contains one of these."""


@lru_cache(maxsize=4096)
def is_secret_name(name: str) -> bool:
    return plain_name(name) in _SECRET_FIELDS


def may_name_a_secret(text: str) -> bool:
    """Whether a name in this JSON may be secret: a look at the text takes less time than one at each name."""
    return any(map(plain_name(text).__contains__, _STEMS))


def names_a_secret(value: JsonValue) -> bool:
    if isinstance(value, dict):
        return any(map(is_secret_name, value)) or any(map(names_a_secret, value.values()))
    return isinstance(value, list) and any(map(names_a_secret, value))


SECRET_HEADERS = frozenset(
    {
        "api-key",
        "authorization",
        "cookie",
        "proxy-authorization",
        "set-cookie",
        "x-amz-security-token",
        "x-api-key",
        "x-auth-token",
        "x-goog-api-key",
    }
)
"""Never stored. A cassette is stricter: it stores only the few headers that `KEPT_HEADERS` names."""

KEPT_HEADERS = ("content-type", "retry-after")

_PREFIX = re.compile(r"[A-Za-z]{1,12}[_-]")
_UUID = 36
_NO_LETTERS = re.compile("[^a-z]")
_PSEUDONYM = re.compile(rf"<secret:(?:[A-Za-z_][A-Za-z0-9_]*|{FIELD_PSEUDONYM})>")
SHORTEST = 4
"""The number of characters below which a secret cannot be distinguished from ordinary text."""
_LEARNABLE = 8
_REMEMBERED_BYTES = 8 * 1024
"""Of a body, up to which it is remembered that there is no secret in it."""


class Redactor:
    """Replaces secrets by stable pseudonyms. One for each trial: it learns the tokens that a tool hands out."""

    def __init__(self, secrets: Mapping[str, str], *, key: bytes | None = None) -> None:
        """`secrets` maps names to values; empty ones are ignored. Raises UsageError for one of fewer than 4 characters.

        With a secret `key`, the digits of a field's value are an HMAC under it: as hard to guess as the key, and fast
        enough for a stream of spans, whose sender could otherwise choose how long the slow function runs.
        """
        self._key = key
        for name, value in secrets.items():
            if value and len(value) < SHORTEST:
                raise UsageError(
                    f"secret {name!r} has fewer than {SHORTEST} characters and may occur in ordinary text",
                    remedy="remove it from the suite's `secrets`, or use a longer one",
                )
        known = tuple((name, value) for name, value in secrets.items() if value)
        self.search: SecretSearch | None = search_for(known) if known else None
        """The search for known values; None: there are none."""
        self._learned: dict[str, str] = {}
        self._weak: dict[str, str] = {}

    def bind(self, value: str, pseudonym: str, *, weak: bool = False) -> None:
        """Registers `value` to be stored as `pseudonym` if it is a whole text; a `weak` one, which may occur by chance,
        only as a credential.
        """
        (self._weak if weak else self._learned)[value] = pseudonym

    def pseudonym(self, name: str, value: str) -> str:
        """What stands for a credential, whatever its name."""
        return self._pseudonym_for(_NO_LETTERS.sub("", name.lower()) or "value", value, learn=False)

    @property
    def knows_nothing(self) -> bool:
        """Whether there is no secret and no learned value, so that every text stays as it is."""
        return self.search is None and not self._learned

    def text(self, text: str) -> str:
        """`text` without known secrets."""
        if self.search is None:
            return text
        raw, errors = encoded(text)
        return text if self.search.next(raw) is None else self.known(raw).decode("utf-8", errors)

    def known(self, content: bytes) -> bytes:
        """Bytes without known secrets; the same object if they contain none."""
        return content if self.search is None else _with_pseudonyms(self.search, content)

    def everywhere(self, text: str) -> str:
        """`text` without known secrets and without learned values, even if they occur inside a longer text."""
        if not self._learned:
            return self.text(text)
        for value, pseudonym in self._learned.copy().items():  # another thread may learn more meanwhile
            # A short value may occur in a longer text by chance.
            if len(value) >= _LEARNABLE and value in text:
                text = text.replace(value, pseudonym)
        return self.text(text)

    def leaves_all(self, texts: Sequence[str]) -> bool:
        """Whether `everywhere` leaves each of the texts as it is: one search of all, so that many short ones take no
        longer than a long one. False also if only a look at each can tell.
        """
        between = b"" if self.search is None else self.search.separator
        if between is None or any(map("\n".join(texts).__contains__, self._learned.copy())):
            return False
        try:
            joined = between.join(text.encode() for text in texts)
        except UnicodeEncodeError:
            return False
        return self.search is None or self.search.next(joined) is None

    def value(self, value: JsonValue, *, learn: bool = False) -> JsonValue:
        """A JSON value without known secrets and without the content of secret fields.

        With `learn`, the content of secret fields is recognised when it appears later under another name.
        """
        is_clean = not self._learned and _is_left(self.search, value, compact_json(value))
        return value if is_clean else self._cleaned_value(value, learn)

    def canonical(self, value: JsonValue) -> str:
        """The canonical JSON of a value without known secrets and without the content of secret fields."""
        if not self._learned:
            text = sorted_json(value)
            if is_canonical(text) and _is_left(self.search, value, text):
                return text
        return canonical_json(self.value(value))

    def answer(self, value: JsonValue, body: bytes | None) -> str:
        """The JSON of a tool's answer as a trace has it; learns as `value` does. `body`: what the value was read from;
        None: it was not read.
        """
        if body is not None and len(body) <= _REMEMBERED_BYTES and not self._learned:
            text = _answer_left(self.search, body)
            if text is not None:
                return text
        return spaced_json(self.value(value, learn=True))

    def _cleaned_value(self, value: JsonValue, learn: bool) -> JsonValue:
        match value:
            case str():
                return self._learned.get(value) or self.everywhere(value)
            case bool() | None:
                return value
            case int() | float():
                return self.text(str(value)) if self._is_secret(str(value)) else value
            case dict():
                return {self.text(name): self._field(name, item, learn) for name, item in value.items()}
            case list():
                return [self._cleaned_value(item, learn) for item in value]

    def body(self, body: bytes) -> bytes:
        """A tool's answer in its stored form: byte for byte the same if it contains no secret."""
        try:
            plain = json.loads(body)
            clean = self.value(plain, learn=True)
        except (ValueError, RecursionError):
            return self._unsplit(self.content(body))
        return self._unsplit(self._without_split_secrets(body if clean == plain else _json_bytes(clean)))

    def _without_split_secrets(self, body: bytes) -> bytes:
        """JSON without secrets that are split over several values; unchanged if the result would not be JSON."""
        clean = self.known(body)
        if clean is body:
            return body
        try:
            json.loads(clean)
        except (ValueError, RecursionError):
            return body
        return clean

    def for_agent(self, body: bytes) -> bytes:
        """A tool's answer in the form for the agent: known secrets stay in the gateway, whatever the tool
        returns.

        A value that the tool itself issues to the agent (such as a login token) is kept.
        """
        if self.search is None:
            return body
        if len(body) <= _REMEMBERED_BYTES and _has_no_secret(self.search, body):
            return body
        if self.search.next(body) is None:
            return self._unsplit(body)
        try:
            plain = json.loads(body.decode("utf-8", "surrogateescape"))
            clean = self._without_known_secrets(plain)
        except (ValueError, RecursionError):
            return self._unsplit(self.known(body))
        # `body` writes this form, so that a replay gives the same bytes. Secrets split over several members are found
        # in it.
        return self._unsplit(self.known(_json_bytes(clean)) if clean != plain else self.known(body))

    def _unsplit(self, body: bytes) -> bytes:
        """A body without secrets that its texts, or those of its events, make together."""
        return body if self.search is None else without_split(self.search, body)

    def content(self, content: bytes) -> bytes:
        """A file's or a log's bytes in their stored form; the same if they contain no secret."""
        clean = self.known(content)
        for value, pseudonym in self._learned.copy().items():
            raw = encoded(value)[0]
            if len(value) >= _LEARNABLE and raw in clean:
                clean = clean.replace(raw, pseudonym.encode())
        return clean

    def left_in(self, texts: Iterable[str]) -> str | None:
        """The name of a known secret that one of the texts still contains."""
        if self.search is None:
            return None
        for text in texts:
            found = self.search.next(encoded(text)[0])
            if found is not None:
                return found.name
        return None

    def _is_secret(self, text: str) -> bool:
        raw = text.encode()
        found = None if self.search is None else self.search.next(raw)
        return found is not None and (found.start, found.end) == (0, len(raw))

    def _without_known_secrets(self, value: JsonValue) -> JsonValue:
        match value:
            case str():
                return self.text(value)
            case dict():
                return {self.text(name): self._without_known_secrets(item) for name, item in value.items()}
            case list():
                return [self._without_known_secrets(item) for item in value]
            case int() | float() if not isinstance(value, bool):
                clean = self.text(str(value))
                return value if clean == str(value) else clean
            case _:
                return value

    def _field(self, name: str, value: JsonValue, learn: bool) -> JsonValue:
        if not is_secret_name(name):
            return self._cleaned_value(value, learn)
        match value:
            case bool() | None | "":
                return value
            case dict():
                return self._cleaned_value(value, learn)
            case list():
                return [self._field(name, item, learn) for item in value]
            case _:
                return self._pseudonym_for(name, value if isinstance(value, str) else json.dumps(value), learn)

    def _pseudonym_for(self, name: str, value: str, learn: bool) -> str:
        bound = self._learned.get(value) or self._weak.get(value)
        # of the value as it is stored: a token that a tool has issued is another one in every run
        clean = bound or self.everywhere(value)
        if bound or _PSEUDONYM.fullmatch(clean):
            return clean
        raw = clean.encode("utf-8", "surrogatepass")
        digits = _slow_digits(raw) if self._key is None else hmac.digest(self._key, raw, "sha256")[:4].hex()
        pseudonym = f"<secret:{plain_name(name)}:{digits}>"
        if learn and len(value) >= _LEARNABLE:
            self._learned[value] = pseudonym
        return pseudonym


def stand_in(value: str, digest: str, digits: int = 12) -> str:
    """A placeholder in the value's own format, so that it passes the same checks: a UUID, or a prefix such as `order_`
    and digits.
    """
    if len(value) == _UUID:
        try:
            UUID(value)
        except ValueError:
            pass
        else:
            return str(UUID(hex=digest[:32]))
    prefix = _PREFIX.match(value)
    return f"{prefix[0] if prefix else 'id-'}{digest[:digits]}"


@lru_cache(maxsize=4096)
def _slow_digits(value: bytes) -> str:
    """Remembered, because every trial sends the same credentials."""
    return hashlib.scrypt(value, salt=b"harness pseudonym", n=2**12, r=8, p=1, dklen=4).hex()


@lru_cache(maxsize=1024)
def _has_no_secret(search: SecretSearch, body: bytes) -> bool:
    """Whether the body holds no known secret: remembered, because every trial of a case replays the same answers."""
    return search.next(body) is None and without_split(search, body) is body


@lru_cache(maxsize=1024)
def _answer_left(search: SecretSearch | None, body: bytes) -> str | None:
    """The JSON of the value in a body; None if it holds a secret. Remembered for the same reason."""
    value = json.loads(body.decode())
    text = spaced_json(value)
    return text if _is_left(search, value, text) else None


def _is_left(search: SecretSearch | None, value: JsonValue, text: str) -> bool:
    """Whether the value, with this JSON, certainly holds no known secret and no secret field."""
    if may_name_a_secret(text) and names_a_secret(value):
        return False
    return search is None or search.next(text.encode("utf-8", "surrogatepass")) is None


def _with_pseudonyms(search: SecretSearch, content: bytes) -> bytes:
    pieces, at = list[bytes](), 0
    for found in search.found(content):
        pieces += [content[at : found.start], pseudonym_of(found.name)]
        at = found.end
    return b"".join([*pieces, content[at:]]) if pieces else content


def _json_bytes(value: JsonValue) -> bytes:
    return compact_json(value).encode("utf-8", "surrogatepass")
