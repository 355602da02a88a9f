"""Takes credentials out of imported trajectories before anything of them is stored.

Three ways: values that the importer knows, content of fields that are secret by their name (also where an object
stands as JSON text inside a message), and strings of the shapes that issuers give to their keys.
"""

import re
from collections.abc import Mapping

from harness.cassette.redaction import Redactor
from harness.values import JsonObject, JsonValue

_NAMES = (
    r"api[_-]?key|api[_-]?secret|access[_-]?(?:key|token)|auth[_-]?token|bearer[_-]?token|client[_-]?secret|id[_-]?token"
    r"|refresh[_-]?token|session[_-]?token|secret[_-]?key|private[_-]?key|x-api-key|passw(?:or)?d|passphrase"
)
_SHAPES = re.compile(
    "|".join(
        (
            r"(?P<key>\bsk-(?:ant-|proj-|svcacct-|or-v1-)?[A-Za-z0-9_-]{20,}\b"  # OpenAI, Anthropic, OpenRouter
            r"|\bAIza[A-Za-z0-9_-]{35}"  # Google
            r"|\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"  # Amazon
            r"|\bgh[pousr]_[A-Za-z0-9]{36,}\b|\bgithub_pat_[A-Za-z0-9_]{22,}\b|\bglpat-[A-Za-z0-9_-]{20,}"
            r"|\bhf_[A-Za-z0-9]{30,}\b|\bxox[abeoprs]-[A-Za-z0-9-]{10,}"
            r"|\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}\b|\bnpm_[A-Za-z0-9]{36}\b|\bpypi-[A-Za-z0-9_-]{50,})",
            r"(?P<pem>-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z))",
            r"(?P<jwt>\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,})",
            r"(?i:\b(?:bearer|basic)[ ]+)(?P<bearer>[A-Za-z0-9._~+/=-]{16,})",
            rf"(?i:[\"'](?:{_NAMES})\\?[\"']\s*:\s*\\?[\"'])(?P<quoted>[^\"'\\<]{{4,}})",
            r"\b[A-Z][A-Z0-9_]*(?:API_KEY|SECRET|TOKEN|PASSWORD)=[\"']?(?P<variable>[^\s\"'<]{8,})",
            r"://[^\s/:@\"']+:(?P<userinfo>[^\s/:@\"'<]{4,})@",
        )
    )
)
_HINTS = re.compile(
    r"sk-|AIza|AKIA|ASIA|gh[pousr]_|github_pat_|glpat-|hf_|xox|k_(?:live|test)_|npm_|pypi-|PRIVATE KEY|eyJ|://"
    r"|(?i:bearer|basic|api.?key|token|secret|passw|passphrase|access.?key|private.?key)"
)
"""Cheap to look for: most text holds none of these, and is then left without a closer look."""

_LONG = 2000
_KEPT = 16
"""System prompts stand in every run of a file: long texts are looked at once."""


class Cleaner:
    """Replaces credentials by stable pseudonyms, and counts how many stood there."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._redactor = Redactor(secrets)
        self._long: dict[str, str] = {}
        self.found = 0

    def text(self, text: str) -> str:
        clean = self._long.get(text) if len(text) >= _LONG else None
        if clean is None:
            shaped = _SHAPES.sub(self._pseudonym, text) if _HINTS.search(text) else text
            clean = self._redactor.text(shaped)
            if len(text) >= _LONG and len(self._long) < _KEPT:
                self._long[text] = clean
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
        self.found += hidden != value
        return self._shaped(hidden)

    def fields(self, value: JsonObject) -> JsonObject:
        """The same for an object."""
        clean = self.value(value)
        assert isinstance(clean, dict)  # an object stays one
        return clean

    def _shaped(self, value: JsonValue) -> JsonValue:
        match value:
            case str():
                return self.text(value)
            case list():
                return [self._shaped(item) for item in value]
            case dict():
                return {self.text(name): self._shaped(item) for name, item in value.items()}
            case _:
                return value

    def _pseudonym(self, match: re.Match[str]) -> str:
        kind = match.lastgroup or "key"
        value = match.group(kind)
        hidden = self._redactor.value({"token": value})
        pseudonym = str(hidden["token"]).replace("token", kind) if isinstance(hidden, dict) else f"<secret:{kind}>"
        return match.group().replace(value, pseudonym)
