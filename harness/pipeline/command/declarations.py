"""What a suite declares of the models, MCP servers and hosts that a command reaches."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import SplitResult, urlsplit

from harness.errors import UsageError
from harness.pipeline.command.request import CommandRequest

_KEYS: Final = {"openai": "OPENAI_API_KEY", "anthropic": "ANTHROPIC_API_KEY"}
_PORTS: Final = {"http": 80, "https": 443}


def declared_model(request: CommandRequest) -> dict[str, Any] | None:
    """The suite's `model:`; None where it asks none. Raises UsageError for a key that is not set."""
    if request.providers == ("none",):
        return None
    named = request.providers or tuple(name for name, key in _KEYS.items() if request.environment.get(key))
    if not named:
        raise UsageError(
            f"the environment has no key of a model: neither {' nor '.join(_KEYS.values())} is set",
            remedy="export one of them, name a compatible server (--provider URL), or say that the command asks no"
            " model (--provider none)",
        )
    urls = [name for name in named if name not in _KEYS]
    if not urls:
        if request.api_key is not None:
            raise UsageError("--api-key is for a server of your own", remedy="name its address: --provider URL")
        for name in named:
            _require(request.environment, _KEYS[name])
        return {"providers": {name: {} for name in dict.fromkeys(named)}, "price_list": "packaged"}
    if len(named) > 1 or "none" in named:
        raise UsageError(
            f"--provider {' --provider '.join(named)} cannot stand together",
            remedy="name openai, anthropic or both, or one URL, or none",
        )
    if request.api_key is not None:
        _require(request.environment, request.api_key)
    key = {} if request.api_key is None else {"api_key": request.api_key}
    return {"base_url": _address("--provider", urls[0]).geturl(), **key}


def declared_tools(request: CommandRequest, project: Path) -> list[dict[str, Any]]:
    """A group of tools for each MCP server."""
    for name in request.secrets:
        _require(request.environment, name)
    env = {name: f"${{{name}}}" for name in request.secrets}
    return [
        {
            "server": name,
            "mcp": {"command": _server_command(name, command, request, project), **({"env": env} if env else {})},
            **({"disposable": True} if request.allow_writes else {}),
        }
        for name, command in request.mcp.items()
    ]


def declared_hosts(request: CommandRequest) -> list[dict[str, Any]]:
    """The hosts that the command calls by itself."""
    return [
        {**_host(typed), **({"disposable": True} if request.allow_writes else {})}
        for typed in dict.fromkeys(request.hosts)
    ]


def _server_command(name: str, command: str, request: CommandRequest, project: Path) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UsageError(f"the command of MCP server {name!r} cannot be read: {error}") from None
    if not words:
        raise UsageError(f"MCP server {name!r} has no command", remedy="--mcp NAME='PROGRAM ARGUMENT ...'")
    return [_placed(word, request.started_in, project) for word in words]


def _placed(word: str, started_in: Path, project: Path) -> str:
    """A word that names a file, in a form that holds wherever the server is started."""
    path = started_in / word
    if Path(word).is_absolute() or not path.exists() or ("/" not in word and not path.is_file()):
        return word
    real = path.resolve()
    if real.is_relative_to(project.resolve()):
        return "{suite}/../../" + real.relative_to(project.resolve()).as_posix()
    return str(real)


def _host(typed: str) -> dict[str, Any]:
    name, is_named, url = typed.partition("=")
    if is_named:
        upstream = _address("--tool-host", url)
        return {"host": name.lower(), "upstream": upstream.geturl()}
    address = _address("--tool-host", typed if "://" in typed else f"https://{typed}")
    host = address.hostname or ""
    if address.path.strip("/") or address.query:
        raise UsageError(f"--tool-host {typed}: a host is declared without a path", remedy=f"--tool-host {host}")
    if host == "localhost" or host.replace(".", "").isdigit() or ":" in host:
        raise UsageError(
            f"--tool-host {typed}: a program in a sandbox reaches hosts by name only",
            remedy=f"give it a name that the command uses: --tool-host shop.test={address.geturl()}",
        )
    port = address.port
    if address.scheme == "https" and port is None:
        return {"host": host}
    return {"host": host, "ports": [port or _PORTS[address.scheme]], "upstream": f"{address.scheme}://{address.netloc}"}


def _address(option: str, typed: str) -> SplitResult:
    address = _parsed(typed)
    if address is None:
        expected = "openai, anthropic, none or an http(s) URL" if option == "--provider" else "a host or an http(s) URL"
        raise UsageError(f"{option}: expected {expected}, found {typed[:200]!r}")
    if address.username or address.password:
        raise UsageError(f"{option}: an address with a password would be stored", remedy="take it out of the URL")
    return address


def _parsed(typed: str) -> SplitResult | None:
    """None: it is not an address of a server."""
    try:
        address = urlsplit(typed)
        valid = address.scheme in _PORTS and bool(address.hostname) and address.port != 0
    except ValueError:
        return None
    return address if valid else None


def _require(environment: Mapping[str, str], name: str) -> None:
    if not environment.get(name):
        raise UsageError(
            f"the environment variable {name} is not set",
            remedy=f"export {name}=...; the gateway adds it outside of the sandbox, and it is never stored",
        )
