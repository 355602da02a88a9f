"""`harness ingest`: the receiver of production's spans."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from harness.online import Receiver


@click.group("ingest")
def command() -> None:
    """Receive spans and logs of production by OTLP/HTTP."""


@command.command("serve")
@click.option(
    "--store", type=click.Path(path_type=Path, file_okay=False), help="Folder of the store; default: online/ here."
)
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on; others need --token.")
@click.option("--port", type=click.IntRange(0, 65_535), default=4318, show_default=True, help="0: any free one.")
@click.option(
    "--token",
    "tokens",
    multiple=True,
    metavar="SOURCE=VARIABLE",
    help="A bearer token: the sender's name, and the environment variable that holds the token (repeatable).",
)
@click.option(
    "--trusted-token",
    "trusted",
    multiple=True,
    metavar="SOURCE=VARIABLE",
    help="The same for a harness that may state what it observed (repeatable). Never give it to an agent.",
)
@click.option("--secret", "secrets", multiple=True, metavar="VARIABLE", help="A value that is never stored.")
@click.option("--retention-days", type=click.FloatRange(0, min_open=True), help="Drop what is older.")
@click.option("--max-body-mb", type=click.IntRange(1, 512), default=32, show_default=True, help="Of one request.")
@click.option("--json", "as_json", is_flag=True, help="Print the address, and at the end the counts, as JSON lines.")
@click.pass_obj
def serve(project: Path, /, as_json: bool, **options: Any) -> None:
    """Receive OTLP on `/v1/traces` and `/v1/logs` until it is interrupted.

    \b
    harness ingest serve
    harness ingest serve --token shop=SHOP_TOKEN --host 0.0.0.0 --retention-days 30
    OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318   for the agents

    A request is answered when its records are redacted, written and flushed. Needs the extra `online`.
    """
    import asyncio

    receiver = _receiver(project, options)
    asyncio.run(_serve(receiver, as_json=as_json))


def _receiver(project: Path, options: dict[str, Any]) -> "Receiver":
    from harness.cli.console import say
    from harness.errors import UsageError
    from harness.online import DEFAULT_FOLDER, Receiver, ReceiverOptions, StoreLayout, Tokens

    tokens = Tokens(_named(options["tokens"]), _named(options["trusted"]))
    if options["host"] not in ("127.0.0.1", "::1", "localhost") and not tokens.protects:
        raise UsageError(
            f"a receiver that listens on {options['host']} needs a token", remedy="--token shop=SHOP_TOKEN"
        )
    settings = ReceiverOptions(
        host=options["host"],
        port=options["port"],
        max_body=options["max_body_mb"] << 20,
        retention_days=options["retention_days"],
    )
    layout = StoreLayout(options["store"] or project / DEFAULT_FOLDER)
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
    told = receiver.status
    click.echo(json.dumps(told) if as_json else "\n".join(f"  {name}: {count}" for name, count in told.items()))


def _named(told: tuple[str, ...]) -> dict[str, str]:
    from harness.errors import UsageError

    found: dict[str, str] = {}
    for one in told:
        source, equals, variable = one.partition("=")
        if not equals or not source.isidentifier():
            raise UsageError(f"{one!r} is not SOURCE=VARIABLE", remedy="for example --token shop=SHOP_TOKEN")
        found[source] = _values((variable,))[variable]
    return found


def _values(variables: tuple[str, ...]) -> dict[str, str]:
    import os

    from harness.errors import UsageError

    missing = [name for name in variables if not os.environ.get(name)]
    if missing:
        raise UsageError(f"the environment variables {', '.join(missing)} are not set")
    return {name: os.environ[name] for name in variables}
