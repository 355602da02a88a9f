"""Options of verbs that serve a double of a model, and the server that runs until Ctrl-C."""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from harness.upstream import ModelDouble

F = TypeVar("F", bound=Callable[..., Any])


def double_options(verb: F) -> F:
    """`--port` and `--latency-ms`."""
    port = click.option(
        "--port",
        type=click.IntRange(0, 65535),
        default=0,
        show_default="a free port",
        help="Port of the model's server on the loopback interface.",
    )
    latency = click.option(
        "--latency-ms", type=click.FloatRange(0), default=0.0, show_default=True, help="Delay of every answer."
    )
    return port(latency(verb))


def serve_double(double: "ModelDouble") -> None:
    """Prints the base URL, and serves until Ctrl-C."""
    with double as model:
        click.echo(model.url)
        while True:
            time.sleep(3600)
