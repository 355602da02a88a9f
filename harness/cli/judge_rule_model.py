"""`harness judge rule-model`: the double of a judge's model, served on this machine."""

import time
from pathlib import Path

import click


@click.command("rule-model")
@click.argument("rules", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default="a free one",
    help="Port of the model, on this machine alone.",
)
@click.option("--latency-ms", type=click.FloatRange(0), default=0.0, show_default=True, help="How long it thinks.")
def command(rules: Path, port: int, latency_ms: float) -> None:
    """Serve the rule model with the RULES of a YAML file until Ctrl-C; its base URL is printed first.

    \b
    harness judge rule-model suites/drive_thru/rubrics/rules.yaml --port 8123

    It follows a rule only where its prompt tells it to, and is for trying out rubrics, prompts and pipelines without a
    model: what it says is never a measure of quality.
    """
    from harness.documents import read_document
    from harness.judge import Mind, RuleModel

    with RuleModel(read_document(rules, Mind), port=port, latency_s=latency_ms / 1000) as model:
        click.echo(model.url)
        while True:
            time.sleep(3600)
