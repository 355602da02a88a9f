"""What a trial left behind: files, probes against the reference's state, pictures of pages, the program's output."""

import difflib
import json
from collections.abc import Iterator

from harness.errors import HarnessError
from harness.results import RunFolder, StoredTrial, stored_reference_states
from harness.trace import ProgramExit, Trial
from harness.values import JsonValue
from harness.view.markup import Markup, fragment, link, tag
from harness.view.tables import block, fold, row, table
from harness.view.wording import bounded, chip

_ITEMS = 300
_LINES = 400
_KINDS = {"added": "good", "deleted": "bad", "modified": "open"}


def files(trial: Trial, base: str) -> Markup | None:
    """The changes to the snapshot's files."""
    end = trial.end_state
    if end is None or not (end.changes or end.problem):
        return None
    rows = [
        row(
            bounded(one.path, 300).encode("utf-8", "backslashreplace").decode(),
            chip(one.change, _KINDS[one.change]),
            one.kind,
            "" if one.size is None else str(one.size),
        )
        for one in end.changes[:_ITEMS]
    ]
    rest = len(end.changes) - len(rows)
    return fold(
        f"Files changed: {len(end.changes)}",
        tag("p", bounded(end.problem), class_="alert") if end.problem else None,
        table(("file", "change", "kind", "#bytes"), rows, caption="Files that the agent changed"),
        tag("p", f"{rest} more", class_="cut") if rest > 0 else None,
        tag("p", link(f"{base}/end_state.tar", "Save the archive of the files"), download=True),
    )


def states(folder: RunFolder, trial: Trial) -> Markup | None:
    """The probes at the end; a case with a reference shows the difference from the state that it leaves."""
    if not trial.states:
        return None
    expected = _expected(folder, trial.case_id)
    parts = [_state(name, value, expected) for name, value in list(trial.states.items())[:_ITEMS]]
    return fold("End state", *parts, opened=bool(expected))


def pictures(stored: StoredTrial, base: str) -> Markup | None:
    """The pages that checks examined, as the browser showed them."""
    shown = []
    for name, seen in list(stored.trial.pages.items())[:20]:
        picture = None
        if seen.screenshot is not None:
            picture = tag("img", src=f"{base}/pictures/{seen.screenshot}", alt=f"Screenshot of {name}", loading="lazy")
        words = " · ".join(bounded(str(one), 300) for one in (seen.title, seen.url, seen.status, seen.problem) if one)
        shown.append(tag("figure", tag("figcaption", tag("b", bounded(name, 100)), f" {words}"), picture))
    return fold(f"Pages: {len(shown)}", *shown) if shown else None


def output(trial: Trial) -> Markup | None:
    """How the agent's program ended, with the end of what it printed."""
    if trial.exit is None:
        return None
    return fold("The agent's program", *_printed(trial.exit))


def logs(trial: Trial) -> Markup | None:
    if not trial.service_logs:
        return None
    parts = [fragment(tag("h3", bounded(name, 100)), block(log)) for name, log in list(trial.service_logs.items())[:20]]
    return fold("Services", *parts)


def _printed(ended: ProgramExit) -> Iterator[Markup]:
    how = f"signal {ended.signal}" if ended.signal is not None else f"exit status {ended.code}"
    yield tag("p", f"{how}{', stopped at the time limit' if ended.timed_out else ''}")
    for name, text, size in (
        ("stdout", ended.stdout_end or ended.stdout, ended.stdout_bytes),
        ("stderr", ended.stderr_end or ended.stderr, ended.stderr_bytes),
    ):
        if text:
            yield tag("h3", f"{name}, {size} bytes" if size else name)
            yield block(text[-20_000:])


def _expected(folder: RunFolder, case_id: str) -> dict[str, JsonValue]:
    try:
        state = stored_reference_states(folder.path).get(case_id)
    except HarnessError:
        return {}  # the trial's own state is shown all the same
    return {} if state is None else dict(state.states)


def _state(name: str, value: JsonValue, expected: dict[str, JsonValue]) -> Markup:
    head = tag("h3", bounded(name, 100))
    if name not in expected:
        return fragment(head, block(_json(value)))
    if expected[name] == value:
        return fragment(head, chip("as the reference leaves it", "good"), fold("state", block(_json(value))))
    return fragment(head, diff(_json(expected[name]), _json(value), "reference", "this trial"))


def diff(before: str, after: str, left: str, right: str) -> Markup:
    """A unified difference; each line begins with its sign, so that colour is not needed to read it."""
    lines = list(difflib.unified_diff(before.splitlines()[:5000], after.splitlines()[:5000], left, right, lineterm=""))
    kinds = {"+": "added", "-": "removed", "@": "hunk"}
    shown = [tag("span", f"{line[:1000]}\n", class_=kinds.get(line[:1])) for line in lines[:_LINES]]
    if len(lines) > _LINES:
        shown.append(tag("span", f"{len(lines) - _LINES} more lines"))
    return tag("pre", *shown, class_="diff", tabindex="0")


def _json(value: JsonValue) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True)
