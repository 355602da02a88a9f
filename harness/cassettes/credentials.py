"""Removes credentials from imported trajectories before anything is stored.

Three ways: values that the importer knows, content of fields that are secret by their name (also if an object is
written as JSON text inside a message), and strings of the shapes that issuers give to their keys.
"""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from pydantic import JsonValue

from harness.cassettes.redaction import Redactor
from harness.values import JsonObject, with_texts

_NAMES: Final = (
    r"api[_-]?key|api[_-]?secret|access[_-]?(?:key|token)|auth[_-]?token|bearer[_-]?token|client[_-]?secret|id[_-]?token"
    r"|refresh[_-]?token|session[_-]?token|secret[_-]?key|private[_-]?key|x-api-key|passw(?:or)?d|passphrase"
)


class _Shape(NamedTuple):
    """A character that every match contains ("": none), texts of which every match contains one, and the expression.

    The texts are searched for first, because that is many times quicker than an expression, and the character before
    them, because that is ten times quicker still. `folded`: the texts are there whatever the case.
    """

    character: str
    hints: tuple[str, ...]
    pattern: str
    folded: bool = False


_KEYS: Final = (
    _Shape("-", ("sk-",), r"\bsk-(?:ant-|proj-|svcacct-|or-v1-)?[A-Za-z0-9_-]{20,}\b"),  # OpenAI, Anthropic, OpenRouter
    _Shape("", ("AIza",), r"\bAIza[A-Za-z0-9_-]{35}"),  # Google
    _Shape("", ("AKIA", "ASIA"), r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"),  # Amazon
    _Shape("_", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"\bgh[pousr]_[A-Za-z0-9]{36,}\b"),
    _Shape("_", ("github_pat_",), r"\bgithub_pat_[A-Za-z0-9_]{22,}\b"),
    _Shape("-", ("glpat-",), r"\bglpat-[A-Za-z0-9_-]{20,}"),
    _Shape("_", ("hf_",), r"\bhf_[A-Za-z0-9]{30,}\b"),
    _Shape("-", ("xox",), r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}"),
    _Shape("_", ("k_live_", "k_test_"), r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}\b"),
    _Shape("_", ("npm_",), r"\bnpm_[A-Za-z0-9]{36}\b"),
    _Shape("-", ("pypi-",), r"\bpypi-[A-Za-z0-9_-]{50,}"),
)
"""The shapes of the issuers' keys."""
_SHAPES: Final = (
    _Shape(
        "-",
        ("-----BEGIN ",),
        r"(?P<pem>-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z))",
    ),
    _Shape(".", ("eyJ",), r"(?P<jwt>\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,})"),
    _Shape(
        " ",
        ("bearer ", "basic "),
        r"(?i:\b(?:bearer|basic)[ ]+)(?P<bearer>[A-Za-z0-9._~+/=-]{16,})",
        folded=True,
    ),
    _Shape(
        ":",
        ("key", "token", "secret", "passw", "passphrase"),
        rf"(?i:[\"'](?:{_NAMES})\\?[\"']\s*:\s*\\?[\"'])(?P<quoted>[^\"'\\<]{{4,}})",
        folded=True,
    ),
    _Shape(
        "=",
        ("API_KEY=", "SECRET=", "TOKEN=", "PASSWORD="),
        r"\b[A-Z][A-Z0-9_]*(?:API_KEY|SECRET|TOKEN|PASSWORD)=[\"']?(?P<variable>[^\s\"'<]{8,})",
    ),
    _Shape(":", ("://",), r"://[^\s/:@\"']+:(?P<userinfo>[^\s/:@\"'<]{4,})@"),
)
"""The other shapes."""
_SHORTEST: Final = 10
"""Characters of the shortest match: `://u:word@`."""

_KEPT: Final = 8_000_000
"""The size of the cache of texts in characters: every model call repeats the previous messages."""


def holds_issued_key(text: str) -> bool:
    """Whether a key of an issuer's shape, or a private key, is in the text; other secrets are not recognised."""
    shapes = tuple(_possible(text, (*_KEYS, _SHAPES[0])))
    return bool(shapes) and _any_of(shapes).search(text) is not None


class Cleaner:
    """Replaces credentials by stable pseudonyms, and counts how many stood there."""

    def __init__(self, secrets: Mapping[str, str], *, key: bytes | None = None) -> None:
        """`key`: see `Redactor`."""
        self._redactor = Redactor(secrets, key=key)
        self._seen: dict[str, str] = {}
        self._left = _KEPT
        self.found = 0

    def text(self, text: str) -> str:
        clean = self._seen.get(text)
        if clean is None:
            shapes = _shapes_in(text) if len(text) >= _SHORTEST else ()
            shaped = _any_of(shapes).sub(self._pseudonym, text) if shapes else text
            clean = self._redactor.text(shaped)
            if self._left > 0:
                self._seen[text] = clean
                self._left -= len(text)
        if clean is not text:
            self.found += clean != text
        return clean

    def text_or_none(self, text: str | None, *, keep_empty: bool = False) -> str | None:
        """None for nothing, and for an empty message: absent is None, never ""."""
        if text is None or not (text or keep_empty):
            return None
        return self.text(text)

    def value(self, value: JsonValue) -> JsonValue:
        """A JSON value without the content of its secret fields, and without credentials in its texts."""
        hidden = self._redactor.value(value)
        if hidden is not value:
            self.found += hidden != value
        return with_texts(hidden, self.text, names=True)

    def fields(self, value: JsonObject) -> JsonObject:
        """The same for an object."""
        clean = self.value(value)
        assert isinstance(clean, dict)  # an object stays one
        return clean

    def _pseudonym(self, match: re.Match[str]) -> str:
        kind = match.lastgroup or "key"
        value = match.group(kind)
        hidden = self._redactor.value({"token": value})
        pseudonym = str(hidden["token"]).replace("token", kind) if isinstance(hidden, dict) else f"<secret:{kind}>"
        return match.group().replace(value, pseudonym)


def _shapes_in(text: str) -> tuple[str, ...]:
    """The expressions of the shapes that may be in a text."""
    keys = _possible(text, _KEYS)
    others = _possible(text, _SHAPES)
    return (f"(?P<key>{'|'.join(keys)})", *others) if keys else tuple(others)


def _possible(text: str, shapes: Iterable[_Shape]) -> list[str]:
    found, folded = list[str](), ""
    for shape in shapes:
        if shape.character not in text:
            continue
        if shape.folded:
            folded = folded or text.casefold()
        searched = folded if shape.folded else text
        for hint in shape.hints:  # not `any`: a generator costs as much as the search
            if hint in searched:
                found.append(shape.pattern)
                break
    return found


@lru_cache(maxsize=256)
def _any_of(shapes: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile("|".join(shapes))
