"""`harness judge rule-model`: the double of a judge's model, served on this machine."""

from pathlib import Path

import click

from harness.cli.doubles import double_options, serve_double


@click.command("rule-model")
@click.argument("rules", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@double_options
def command(rules: Path, port: int, latency_ms: float) -> None:
    """Serve the rule model with the RULES of a YAML file until Ctrl-C; its base URL is printed first.

    \b
    harness judge rule-model suites/drive_thru/rubrics/rules.yaml --port 8123

    It applies a rule only if its prompt contains it. Use it to try rubrics, prompts and pipelines without a real model;
    its verdicts are not a measure of quality.
    """
    from harness.documents import read_document
    from harness.judge import RuleModel, RuleSet

    serve_double(RuleModel(read_document(rules, RuleSet), port=port, latency_s=latency_ms / 1000))
