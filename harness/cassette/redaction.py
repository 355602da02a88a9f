"""Takes secrets out of whatever is about to be stored, and tells whether one is left.

Known values (the suite's `secrets`) become `<secret:NAME>` wherever they stand, also base64- or URL-encoded. Values of
fields that are secret by their name become `<secret:field:digits>`: the digits tell two values apart, since two
different passwords are two different calls, and are slow to compute, so that a weak password cannot be guessed from
them. A pseudonym is left as it is: an agent that was replayed one and sends it back makes the recorded call.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache

from harness.cassette.encodings import forms_of
from harness.errors import UsageError
from harness.frozen import JsonValue

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
"""Never stored. Stricter still: a tape stores only the few headers that `KEPT_HEADERS` names."""

KEPT_HEADERS = ("content-type", "retry-after")

_SECRET_FIELDS = frozenset(
    {
        "accesskey",
        "accesstoken",
        "apikey",
        "apisecret",
        "authorization",
        "authtoken",
        "bearertoken",
        "clientsecret",
        "cookie",
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
    }
)
_FIELD_PSEUDONYM = r"[a-z]+:[0-9a-f]{8}"
_PSEUDONYM = re.compile(rf"<secret:(?:[A-Za-z_][A-Za-z0-9_]*|{_FIELD_PSEUDONYM})>")
SHORTEST = 4
"""Characters below which a secret cannot be told from ordinary text."""
_LEARNABLE = 8


class Redactor:
    """Replaces secrets by stable pseudonyms. One for each trial: it learns the tokens that a tool hands out."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        """`secrets` maps names to values; empty ones are nothing to hide. Raises UsageError for one of under 4."""
        self._names: dict[str, str] = {}
        for name, value in secrets.items():
            if value and len(value) < SHORTEST:
                raise UsageError(
                    f"secret {name!r} has fewer than {SHORTEST} characters and cannot be told from ordinary text",
                    remedy="take it out of the suite's `secrets`, or use a longer one",
                )
            if value:
                self._names |= {form: name for form in forms_of(value) if form not in self._names}
        self._pattern = _pattern(self._names) if self._names else None
        # To look for all of them in the JSON text of a whole value is much quicker than in each text of it.
        self._in_json = {json.dumps(form, ensure_ascii=False)[1:-1] for form in self._names}
        self._digits: dict[str, str] = {}
        self._learned: dict[str, str] = {}

    def bind(self, value: str, pseudonym: str) -> None:
        """From now on `value`, where it is a whole text, is stored as `pseudonym`."""
        self._learned[value] = pseudonym

    def text(self, text: str) -> str:
        """`text` without known secrets."""
        if self._pattern is None or not self._is_in(text):
            return text
        return self._pattern.sub(self._pseudonym, text)

    def everywhere(self, text: str) -> str:
        """`text` without known secrets and without what was learned, also where that stands inside a longer text."""
        for value, pseudonym in self._learned.items():
            # A short value may stand in a longer text by chance.
            if len(value) >= _LEARNABLE and value in text:
                text = text.replace(value, pseudonym)
        return self.text(text)

    def value(self, value: JsonValue, *, learn: bool = False) -> JsonValue:
        """A JSON value without known secrets and without the content of secret fields.

        With `learn`, the content of secret fields is recognised when it comes back later under another name.
        """
        return value if self._is_clean(value) else self._cleaned(value, learn)

    def _is_in(self, text: str) -> bool:
        return any(form in text for form in self._names)

    def _is_clean(self, value: JsonValue) -> bool:
        """Told at a glance; False where it takes more than that."""
        if self._learned or _names_a_secret(value):
            return False
        text = json.dumps(value, ensure_ascii=False) if self._names else ""
        return not any(form in text for form in self._in_json)

    def _cleaned(self, value: JsonValue, learn: bool) -> JsonValue:
        match value:
            case str():
                return self._learned.get(value) or self.everywhere(value)
            case bool() | None:
                return value
            case int() | float():
                return (
                    value if self._pattern is None or not self._pattern.fullmatch(str(value)) else self.text(str(value))
                )
            case dict():
                return {self.text(name): self._field(name, item, learn) for name, item in value.items()}
            case list():
                return [self._cleaned(item, learn) for item in value]

    def body(self, body: bytes) -> bytes:
        """A tool's answer as it may be stored: byte for byte the same where nothing in it is secret."""
        try:
            plain = json.loads(body)
            clean = self.value(plain, learn=True)
        except (ValueError, RecursionError):
            return self.text(body.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        if clean == plain:
            return body
        return json.dumps(clean, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")

    def for_agent(self, body: bytes) -> bytes:
        """A tool's answer as the agent may see it: known secrets stay behind the door, whatever the tool says.

        What the tool itself hands out (a token to log in with) is the agent's to use, and stays.
        """
        text = body.decode("utf-8", "surrogateescape")
        if self._pattern is None or not self._may_hold(text):
            return body
        try:
            plain = json.loads(text)
            clean = self._known(plain)
            if clean == plain:
                return body
            told = json.dumps(clean, ensure_ascii=False, separators=(",", ":"))
            return told.encode("utf-8", "surrogatepass")  # as `body` writes it: a replay gives the same bytes
        except (ValueError, RecursionError):
            return self.text(text).encode("utf-8", "surrogateescape")

    def content(self, content: bytes) -> bytes:
        """A file's or a log's bytes as they may be stored; the same where nothing in them is secret."""
        return self.everywhere(content.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    def _may_hold(self, text: str) -> bool:
        """JSON can write any character of a secret as an escape, so that only its value tells."""
        if "\\" in text:
            return True
        return (
            ("<secret:" in text or self._is_in(text)) and self._pattern is not None and bool(self._pattern.search(text))
        )

    @property
    def forms(self) -> Mapping[str, str]:
        """Every form of every known secret, which must stand nowhere -> the secret's name."""
        return self._names

    def left_in(self, texts: Iterable[str]) -> str | None:
        """The name of a known secret that still stands in one of the texts."""
        if self._pattern is None:
            return None
        for text in filter(self._is_in, texts):
            for found in self._pattern.finditer(text):
                if found["kept"] is None:
                    return self._names[found.group()]
        return None

    def _pseudonym(self, found: re.Match[str]) -> str:
        return found.group() if found["kept"] is not None else f"<secret:{self._names[found.group()]}>"

    def _known(self, value: JsonValue) -> JsonValue:
        match value:
            case str():
                return self.text(value)
            case dict():
                return {self.text(name): self._known(item) for name, item in value.items()}
            case list():
                return [self._known(item) for item in value]
            case int() | float() if not isinstance(value, bool):
                clean = self.text(str(value))
                return value if clean == str(value) else clean
            case _:
                return value

    def _field(self, name: str, value: JsonValue, learn: bool) -> JsonValue:
        if not _is_secret_name(name):
            return self._cleaned(value, learn)
        match value:
            case bool() | None | "":
                return value
            case dict():
                return self._cleaned(value, learn)
            case list():
                return [self._field(name, item, learn) for item in value]
            case _:
                return self._hidden(name, value if isinstance(value, str) else json.dumps(value), learn)

    def _hidden(self, name: str, value: str, learn: bool) -> str:
        clean = self._learned.get(value) or self.text(value)
        if _PSEUDONYM.fullmatch(clean):
            return clean
        if value not in self._digits:
            self._digits[value] = hashlib.scrypt(
                value.encode("utf-8", "surrogatepass"), salt=b"harness pseudonym", n=2**12, r=8, p=1, dklen=4
            ).hex()
        pseudonym = f"<secret:{_plain_name(name)}:{self._digits[value]}>"
        if learn and len(value) >= _LEARNABLE:
            self._learned[value] = pseudonym
        return pseudonym


def _pattern(names: Mapping[str, str]) -> re.Pattern[str]:
    """Finds known secrets, and steps over pseudonyms that this harness wrote."""
    known = "|".join(re.escape(name) for name in sorted(set(names.values())))
    forms = "|".join(re.escape(form) for form in sorted(names, key=len, reverse=True))
    return re.compile(rf"(?P<kept><secret:(?:{known}|{_FIELD_PSEUDONYM})>)|{forms}")


def _plain_name(name: str) -> str:
    return name.replace("_", "").replace("-", "").lower()


@lru_cache(maxsize=4096)
def _is_secret_name(name: str) -> bool:
    return _plain_name(name) in _SECRET_FIELDS


def _names_a_secret(value: JsonValue) -> bool:
    match value:
        case dict():
            return any(_is_secret_name(name) or _names_a_secret(item) for name, item in value.items())
        case list():
            return any(_names_a_secret(item) for item in value)
        case _:
            return False
