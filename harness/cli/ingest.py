"""`harness ingest`: the receiver of production spans."""

from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

if TYPE_CHECKING:
    from harness.production.receiver import Receiver


class Options(TypedDict):
    """The options of `harness ingest serve`."""

    host: str
    port: int
    tokens: tuple[str, ...]
    trusted: tuple[str, ...]
    secrets: tuple[str, ...]
    retention_days: float | None
    max_body_mb: int


@click.group("ingest")
def command() -> None:
    """Receive production spans and logs over OTLP/HTTP."""


@command.command("serve")
@click.option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="Address to listen on; addresses other than loopback need --token.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=4318,
    show_default=True,
    help="Port to listen on; 0: any free port.",
)
@click.option(
    "--token",
    "tokens",
    multiple=True,
    metavar="SOURCE=VARIABLE",
    help="A bearer token: the name of the sender and the environment variable that holds the token (repeatable).",
)
@click.option(
    "--trusted-token",
    "trusted",
    multiple=True,
    metavar="SOURCE=VARIABLE",
    help="A bearer token for a harness, whose observations are trusted; never give it to an agent (repeatable).",
)
@click.option(
    "--secret",
    "secrets",
    multiple=True,
    metavar="VARIABLE",
    help="Environment variable whose value is never stored (repeatable).",
)
@click.option("--retention-days", type=click.FloatRange(0, min_open=True), help="Delete records older than this.")
@click.option(
    "--max-body-mb",
    type=click.IntRange(1, 512),
    default=32,
    show_default=True,
    help="Maximum size of a request's body.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the address, and at the end the counts, as JSON lines.")
@click.pass_obj
def serve(project: Path, /, as_json: bool, **options: Unpack[Options]) -> None:
    """Receive OTLP on `/v1/traces` and `/v1/logs` until Ctrl-C.

    \b
    harness ingest serve
    harness ingest serve --token shop=SHOP_TOKEN --host 0.0.0.0 --retention-days 30
    OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318   for the agents

    A request is acknowledged after its records are redacted, written and flushed.
    """
    import asyncio

    receiver = _receiver(project, options)
    asyncio.run(_serve(receiver, as_json=as_json))


def _receiver(project: Path, options: Options) -> "Receiver":
    from harness.cli.console import say
    from harness.errors import UsageError
    from harness.production.receiver import AccessTokens, Receiver, ReceiverOptions
    from harness.production.settings import online_settings
    from harness.production.storage import StoreLayout

    tokens = AccessTokens(_named(options["tokens"]), _named(options["trusted"]))
    if options["host"] not in ("127.0.0.1", "::1", "localhost") and not tokens.protects:
        raise UsageError(
            f"a receiver that listens on {options['host']} needs a bearer token", remedy="--token shop=SHOP_TOKEN"
        )
    online = online_settings(project)
    settings = ReceiverOptions(
        host=options["host"],
        port=options["port"],
        max_body=options["max_body_mb"] << 20,
        retention_days=options["retention_days"],
        clickhouse=online.clickhouse,
    )
    layout = StoreLayout(project / online.store)
    return Receiver(layout, settings, tokens, _values(options["secrets"]), say)


async def _serve(receiver: "Receiver", *, as_json: bool) -> None:
    import asyncio
    import json
    import signal

    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    try:
        url = await receiver.start()
        click.echo(json.dumps({"url": url}) if as_json else f"receiving on {url}/v1/traces and {url}/v1/logs")
        await ended.wait()
    finally:
        await receiver.close()
    status = receiver.status
    click.echo(json.dumps(status) if as_json else "\n".join(f"  {name}: {count}" for name, count in status.items()))


def _named(given: tuple[str, ...]) -> dict[str, str]:
    from harness.errors import UsageError

    found: dict[str, str] = {}
    for one in given:
        source, equals, variable = one.partition("=")
        if not equals or not source.isidentifier():
            raise UsageError(
                f"invalid token {one!r}: expected SOURCE=VARIABLE", remedy="for example --token shop=SHOP_TOKEN"
            )
        found[source] = _values((variable,))[variable]
    return found


def _values(variables: tuple[str, ...]) -> dict[str, str]:
    import os

    from harness.errors import UsageError

    missing = [name for name in variables if not os.environ.get(name)]
    if missing:
        raise UsageError(f"the environment variables {', '.join(missing)} are not set")
    return {name: os.environ[name] for name in variables}
