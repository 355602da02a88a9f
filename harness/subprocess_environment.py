"""What a program that this process starts inherits of its environment: by name, so never a key of a model or a tool."""

import os

_EVERY_PROGRAM = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "SSL_CERT_FILE")

GIT = ("XDG_CONFIG_HOME", "GIT_")
FETCHING = ("SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "http_proxy", "https_proxy", "no_proxy", "all_proxy")
"""How the network is reached from here; proxies are written in small letters or in capitals."""
PIP = (*FETCHING, "XDG_", "PIP_", "PYTHON")
APT = (*FETCHING, "APT_", "DEB")


def subprocess_environment(*beginnings: str) -> dict[str, str]:
    """What every program needs, and each variable whose name begins with one of `beginnings`, in any case."""
    wanted = tuple(beginning.upper() for beginning in beginnings)
    return {
        name: value for name, value in os.environ.items() if name in _EVERY_PROGRAM or name.upper().startswith(wanted)
    }
