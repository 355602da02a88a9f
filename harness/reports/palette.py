"""The colours of every page that the harness makes, by day and by night: one list, for one meaning each."""

from functools import cache
from importlib.resources import files


@cache
def palette() -> str:
    """Style that defines the colours as variables: `--good`, `--bad`, `--open`, grounds, texts and marks of plots."""
    return (files("harness.reports") / "palette.css").read_text(encoding="utf-8")
