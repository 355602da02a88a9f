"""`harness optimise rule-reflector`: a double of the model that revises prompts."""

from pathlib import Path

import click

from harness.cli.doubles import double_options, serve_double


@click.command("rule-reflector")
@click.argument("rules", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.option("--seed", type=int, default=0, show_default=True, help="Which of the applicable edits is made.")
@double_options
def command(rules: Path, seed: int, port: int, latency_ms: float) -> None:
    """Serve a double of the reflector's model that applies the edits in the file RULES, until Ctrl-C; prints its base
    URL.

    \b
    harness optimise rule-reflector suites/grocery/reflector.yaml --port 8124

    Use it to try optimisations without a real model; its proposals are not a measure of quality.
    """
    from harness.optimise import RuleReflector, RuleReflectorModel, read_rule_book

    reflector = RuleReflector(read_rule_book(rules), seed=seed)
    serve_double(RuleReflectorModel(reflector, port=port, latency_s=latency_ms / 1000))
