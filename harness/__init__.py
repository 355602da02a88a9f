"""An evaluation harness for tool-using agents: isolated, replayed, traced, scored."""

__version__ = "0.1.0"
