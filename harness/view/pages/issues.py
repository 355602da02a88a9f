"""Issues that the project keeps as files: their status, labels and text."""

from harness.errors import UsageError
from harness.issues import FolderTracker, TrackerOptions
from harness.view.asking import Ask, Page, PageSet
from harness.view.markup import fragment, link, path_of, tag
from harness.view.tables import row, table
from harness.view.trial.texts import shown_text
from harness.view.wording import bounded, chip


def issues(ask: Ask) -> Page:
    """`/issues`: those that are kept as files of the project."""
    if not (ask.project.path / "issues").is_dir():
        nothing = tag("p", "The project keeps no issues as files.", class_="empty")
        return Page(title="Issues", body=fragment(tag("h1", "Issues"), nothing), section="Issues")
    rows = [
        row(
            link(path_of("issues", one.number), bounded(one.title, 200)),
            chip("open", "open") if one.is_open else chip("closed"),
            fragment(*(chip(bounded(label, 60)) for label in one.labels[:8])),
            href=path_of("issues", one.number),
        )
        for one in FolderTracker(TrackerOptions(project=ask.project.path)).find()[:1000]
    ]
    shown = table(("issue", "state", "labels"), rows, caption="Issues", class_="plain list")
    return Page(title="Issues", body=fragment(tag("h1", "Issues"), shown), section="Issues")


def issue(ask: Ask) -> Page:
    """`/issues/{number}`."""
    number = ask.place["number"]
    found = next(
        (one for one in FolderTracker(TrackerOptions(project=ask.project.path)).find() if str(one.number) == number),
        None,
    )
    if found is None:
        raise UsageError("there is no such issue")
    body = fragment(
        tag("p", link("/issues", "Issues", data_up=True), class_="crumbs"),
        tag("h1", bounded(found.title, 300)),
        tag("p", chip("open" if found.is_open else "closed"), *(chip(bounded(one, 60)) for one in found.labels[:20])),
        shown_text(found.body, 50_000),
    )
    return Page(title=bounded(found.title, 80), body=body, section="Issues")


PAGES = PageSet(shows={"/issues": issues, "/issues/{number}": issue}, entry=("Issues", "/issues"))
