"""AWS's Signature Version 4, which proves knowledge of the secret key without sending it.

The algorithm is four HMACs over a fixed text. botocore has it too, and needs 14 MB and 0.3 s of imports for it, which
every run with Bedrock would pay; a test compares both.
"""

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from urllib.parse import quote

from yarl import URL

_ALGORITHM = "AWS4-HMAC-SHA256"


@dataclass(frozen=True, kw_only=True)
class AwsSigner:
    """The credentials of a user or a role of AWS, and the region and service of its requests."""

    access_key: str
    secret_key: str
    session_token: str | None = None
    """The session token of temporary credentials."""
    region: str
    service: str

    def headers(self, method: str, url: URL, body: bytes, at: datetime) -> dict[str, str]:
        """The headers that sign a request without a query; `url` is encoded as it is sent."""
        time = at.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
        scope = f"{time[:8]}/{self.region}/{self.service}/aws4_request"
        signed = {"host": url.host_port_subcomponent or "", "x-amz-date": time}
        if self.session_token is not None:
            signed["x-amz-security-token"] = self.session_token
        names = ";".join(signed)
        text = "\n".join((_ALGORITHM, time, scope, _digest(_canonical(method, url, signed, names, body).encode())))
        key = f"AWS4{self.secret_key}".encode()
        for part in scope.split("/"):
            key = _mac(key, part)
        authorization = (
            f"{_ALGORITHM} Credential={self.access_key}/{scope}, SignedHeaders={names}, "
            f"Signature={_mac(key, text).hex()}"
        )
        return {name: value for name, value in signed.items() if name != "host"} | {"Authorization": authorization}


def _canonical(method: str, url: URL, signed: Mapping[str, str], names: str, body: bytes) -> str:
    path = quote(url.raw_path or "/", safe="/-_.~")  # encoded once more, as every service but S3 expects it
    headers = "".join(f"{name}:{value.strip()}\n" for name, value in signed.items())
    return "\n".join((method, path, "", headers, names, _digest(body)))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _mac(key: bytes, text: str) -> bytes:
    return hmac.digest(key, text.encode(), "sha256")
