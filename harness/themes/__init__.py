"""Failures grouped into themes, ranked, and followed over days; each can become an issue."""

from typing import TYPE_CHECKING

from harness.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from harness.themes.causes import failures_of_card as failures_of_card
    from harness.themes.causes import failures_of_judgements as failures_of_judgements
    from harness.themes.embedding import Embed as Embed
    from harness.themes.embedding import load_embedding as load_embedding
    from harness.themes.failure import SEVERITIES as SEVERITIES
    from harness.themes.failure import Cause as Cause
    from harness.themes.failure import HarnessFault as HarnessFault
    from harness.themes.failure import SessionFailure as SessionFailure
    from harness.themes.filing import LEAST_SESSIONS as LEAST_SESSIONS
    from harness.themes.filing import MOST_NEW as MOST_NEW
    from harness.themes.filing import file_themes as file_themes
    from harness.themes.filing import theme_draft as theme_draft
    from harness.themes.grouping import FailureGroup as FailureGroup
    from harness.themes.grouping import ThemeText as ThemeText
    from harness.themes.grouping import grouped as grouped
    from harness.themes.population import Population as Population
    from harness.themes.population import run_population as run_population
    from harness.themes.population import store_populations as store_populations
    from harness.themes.report import theme_named as theme_named
    from harness.themes.report import themes_of_run as themes_of_run
    from harness.themes.report import themes_of_store as themes_of_store
    from harness.themes.theme import AbsentTheme as AbsentTheme
    from harness.themes.theme import DriftLink as DriftLink
    from harness.themes.theme import Example as Example
    from harness.themes.theme import Theme as Theme
    from harness.themes.theme import ThemesReport as ThemesReport
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "causes": ("failures_of_card", "failures_of_judgements"),
            "embedding": ("Embed", "load_embedding"),
            "failure": ("SEVERITIES", "Cause", "SessionFailure", "HarnessFault"),
            "filing": ("LEAST_SESSIONS", "MOST_NEW", "file_themes", "theme_draft"),
            "grouping": ("FailureGroup", "ThemeText", "grouped"),
            "population": ("Population", "run_population", "store_populations"),
            "report": ("theme_named", "themes_of_run", "themes_of_store"),
            "theme": ("AbsentTheme", "DriftLink", "Example", "Theme", "ThemesReport"),
        },
    )
