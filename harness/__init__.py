"""An evaluation harness for tool-using agents: sealed, replayed, traced, scored."""

__version__ = "0.1.0"
