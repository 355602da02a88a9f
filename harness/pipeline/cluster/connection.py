"""The connection to an existing Ray cluster, and its nodes."""

import hashlib
import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import ray
from ray.exceptions import RayError

import harness
from harness.errors import UsageError

_ANSWERS_WITHIN_S = 10.0


@dataclass(frozen=True, kw_only=True)
class Node:
    """One machine of the cluster."""

    id: str
    address: str
    processors: int

    def __str__(self) -> str:
        return f"{self.address} ({self.id[:8]})"


@contextmanager
def connected(address: str) -> Iterator[tuple[Node, ...]]:
    """The nodes with at least one processor for Ray; a head node without one is not used.

    Raises UsageError where no cluster answers at `address`.
    """
    if address.startswith("ray://"):
        raise UsageError(
            "--ray-address ray://...: a Ray client cannot deliver images",
            remedy="start the run on a machine of the cluster, with --ray-address auto or HOST:PORT",
        )
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        _knock(address)
        ray.init(address=address, log_to_driver=False, logging_level=logging.CRITICAL)
    except (OSError, RuntimeError, ValueError, RayError) as error:
        raise UsageError(
            f"no Ray cluster answers at {address!r}: {first_line(error)}",
            remedy="start one: `ray start --head` here, `ray start --address HOST:PORT` on the others",
        ) from None
    try:
        yield _nodes()
    finally:
        ray.shutdown()


@lru_cache(maxsize=1)
def program_digest() -> str:
    """Sha-256 over the installed harness: nodes with another one would run other trials."""
    root = Path(harness.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(f"{path.relative_to(root)}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()


def _nodes() -> tuple[Node, ...]:
    found = tuple(
        Node(id=node["NodeID"], address=node["NodeManagerAddress"], processors=int(node["Resources"].get("CPU", 0)))
        for node in ray.nodes()  # type: ignore[no-untyped-call]  # Ray has no annotation here
        if node["Alive"]
    )
    able = tuple(sorted((node for node in found if node.processors), key=lambda node: (node.address, node.id)))
    if not able:
        raise UsageError(f"none of the cluster's {len(found)} nodes has a processor for work")
    return able


def _knock(address: str) -> None:
    """Tests the connection first, because Ray would retry for two minutes. Raises OSError if nothing listens."""
    host, colon, port = address.rpartition(":")
    if colon and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=_ANSWERS_WITHIN_S).close()


def first_line(error: Exception) -> str:
    """The first line of an error's message; Ray's messages are a page long."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
