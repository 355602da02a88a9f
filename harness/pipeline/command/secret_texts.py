"""Secrets in what a recording would store: values of the user's variables, and keys of an issuer's shape."""

from collections.abc import Mapping
from dataclasses import dataclass

from harness.ingest import holds_issued_key

_SHORTEST_SECRET = 12
_SECRET_NAMES = ("KEY", "TOKEN", "SECRET", "PASSWORD")


@dataclass(frozen=True, kw_only=True)
class SecretTexts:
    """Finds secrets in a text."""

    values: Mapping[str, bytes]
    """Value by the name of its variable."""

    @classmethod
    def of_environment(cls, environment: Mapping[str, str]) -> "SecretTexts":
        """The variables that are secret by their name, and long enough to be searched for."""
        return cls(
            values={
                name: value.encode("utf-8", "surrogateescape")
                for name, value in environment.items()
                if len(value) >= _SHORTEST_SECRET and any(part in name.upper() for part in _SECRET_NAMES)
            }
        )

    def variable_in(self, content: bytes) -> str | None:
        """The name of the first variable whose value stands there."""
        return next((name for name, value in self.values.items() if value in content), None)

    def reason(self, content: bytes) -> str | None:
        """What makes it a secret, as a predicate; None: nothing was recognised."""
        name = self.variable_in(content)
        if name is not None:
            return f"holds the value of the environment variable {name}"
        return "holds what looks like a key or token" if holds_issued_key(content.decode("utf-8", "replace")) else None

    def is_in(self, text: str) -> bool:
        """Whether a secret stands in the text."""
        return self.reason(text.encode("utf-8", "surrogateescape")) is not None
