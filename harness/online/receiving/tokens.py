"""Bearer tokens of a receiver: each names a source, and says whether the sender is a trusted harness."""

import hashlib
import hmac
from collections.abc import Mapping
from typing import Final

from harness.errors import UsageError

DEFAULT_SOURCE: Final = "default"
SHORTEST: Final = 16


class AccessTokens:
    """Holds digests only. Without any token everybody who reaches the address may send."""

    def __init__(self, tokens: Mapping[str, str], trusted: Mapping[str, str]) -> None:
        """Both map names of sources to tokens.

        Raises UsageError for a token of under 16 characters, and for a trusted source whose name others have too:
        sessions are kept apart by it.
        """
        shared = {*trusted} & {*(tokens or (DEFAULT_SOURCE,))}
        if shared:
            raise UsageError(
                f"the trusted source {min(shared)!r} has the name of one that is not trusted",
                remedy="give it a name of its own",
            )
        self._by_digest: dict[bytes, tuple[str, bool]] = {}
        for trust, named in ((False, tokens), (True, trusted)):
            for name, token in named.items():
                if len(token) < SHORTEST:
                    raise UsageError(
                        f"the token of {name!r} has fewer than {SHORTEST} characters",
                        remedy="make one: python -c 'import secrets; print(secrets.token_urlsafe())'",
                    )
                self._by_digest[_digest(token)] = (name, trust)
        self._open = not tokens

    @property
    def protects(self) -> bool:
        """Whether a token is needed."""
        return not self._open

    def source_of(self, authorization: str) -> tuple[str, bool] | None:
        """(source, trusted) of a request by its header `Authorization`; None: it is refused."""
        kind, _, token = authorization.partition(" ")
        if kind.lower() == "bearer" and token.strip():
            received = _digest(token.strip())
            for digest, found in self._by_digest.items():
                if hmac.compare_digest(digest, received):
                    return found
            return None
        return (DEFAULT_SOURCE, False) if self._open else None


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
