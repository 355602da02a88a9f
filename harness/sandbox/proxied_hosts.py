"""External hosts that the gateway answers for: the settings of a sandbox for them."""

from dataclasses import dataclass
from pathlib import Path

_HERE = "127.0.0.1,localhost"


@dataclass(frozen=True, kw_only=True)
class ProxiedHosts:
    """Names that lead to the gateway: by the proxy variables, and in a container also by name resolution.

    For programs that ignore the variables the names resolve to the sandbox itself, where the ports are forwarded.
    """

    names: tuple[str, ...]
    ports: tuple[int, ...]
    certificate: Path
    """File name of the authority's certificate, in the folder of the gateway's socket."""


def proxy_environment(gateway_url: str, certificate: str) -> dict[str, str]:
    """Variables that make the clients of Python, Node, curl, git and pip use the gateway as a proxy, and trust it."""
    return {
        **dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), gateway_url),
        **dict.fromkeys(("NO_PROXY", "no_proxy"), _HERE),
        **dict.fromkeys(
            (
                "SSL_CERT_FILE",
                "REQUESTS_CA_BUNDLE",
                "CURL_CA_BUNDLE",
                "NODE_EXTRA_CA_CERTS",
                "GIT_SSL_CAINFO",
                "PIP_CERT",
            ),
            certificate,
        ),
        "NODE_USE_ENV_PROXY": "1",
    }
