"""The web pages that the checks of a trial examined, with screenshots if the size limit of the report permits."""

import base64

from harness.report.html.payload import present
from harness.results import StoredTrial, read_checked
from harness.values import JsonObject

PICTURE = "data:image/png;base64,"
_BUDGET = 12_000_000
"""Characters of all pictures of a run, base64."""
_ITEMS = 20


def pages_view(stored: StoredTrial, trials: int) -> list[JsonObject]:
    """The pages of one trial; a screenshot above the trial's share of the limit is replaced by its file name."""
    left = _BUDGET // trials
    shown: list[JsonObject] = []
    for name, seen in list(stored.trial.pages.items())[:_ITEMS]:
        picture = None
        if seen.screenshot is not None:
            content = base64.b64encode(read_checked(stored.folder, seen.screenshot)).decode("ascii")
            picture = PICTURE + content if len(content) <= left else None
            left -= 0 if picture is None else len(content)
        shown.append(
            present(
                check=name,
                url=seen.url,
                title=seen.title,
                status=seen.status,
                problem=seen.problem,
                file=seen.screenshot,
                picture=picture,
            )
        )
    return shown
