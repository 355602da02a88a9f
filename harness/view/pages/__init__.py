"""The pages, one module a subject. A new part of the project gets a module here, and its name in the list below."""

from importlib import import_module

from harness.view.asking import PageSet

_MODULES = (
    "runs",
    "run",
    "trial",
    "compare",
    "trend",
    "drift",
    "issues",
    "cassettes",
    "misses",
    "annotate",
    "questions",
    "workbench",
    "tries",
    "themes",
    "production",
    "session",
    "variants",
    "optimisations",
)
"""In the order of the navigation."""


def page_sets() -> tuple[PageSet, ...]:
    """Each module's `PAGES`."""
    return tuple(import_module(f"harness.view.pages.{name}").PAGES for name in _MODULES)
