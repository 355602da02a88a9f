"""An evaluation harness for tool-using agents: isolated, replayed, traced, scored."""

TYPE_CHECKING = False  # the launcher of a sandbox is in this package, and does without `typing`
if TYPE_CHECKING:
    from harness.api import RunOptions as RunOptions
    from harness.api import compare as compare
    from harness.api import run as run

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """`harness.run` and `harness.compare`, imported on first use, so that the command line starts quickly."""
    if name in ("run", "compare", "RunOptions"):
        from harness import api

        return getattr(api, name)
    raise AttributeError(f"module 'harness' has no attribute {name!r}")
