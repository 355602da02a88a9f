"""The recordings that answer a call of a trial, beside the others of its tool."""

from pathlib import Path
from typing import Final

from harness.cassette import ShownRecording, cassette_paths, shown_cassette
from harness.trace import ToolCall
from harness.view.markup import Markup, fragment, link, path_of, tag
from harness.view.tables import PER_PAGE, fold
from harness.view.trial.texts import folded_value, shown_text
from harness.view.wording import bounded, chip, words

_BODY: Final = 20_000
_MOST: Final = 20


def recordings_of(cassettes: Path, suite: str, case_id: str, call: ToolCall) -> Markup:
    """Those of the same arguments first: which one answered depends on the writes before."""
    path = next((one for one in cassette_paths(cassettes, suite) if one.stem == case_id), None)
    if path is None:
        return tag("p", "There are no recordings of this case any more.", class_="loaded dim")
    own = [(place, one) for place, one in enumerate(shown_cassette(path).recordings) if one.tool == call.name]
    same = [(place, one) for place, one in own if _fits(one, call)]
    rest = [one for one in own if one not in same]
    parts = [_recording(suite, case_id, *one) for one in same[:_MOST]]
    if not parts:
        parts = [tag("p", "No recording has the arguments of this call any more.", class_="dim")]
    if rest:
        others = fragment(*(_recording(suite, case_id, *one) for one in rest[:_MOST]))
        parts.append(fold(f"{len(rest)} other recordings of {bounded(call.name, 100)}", others))
    return tag("div", *parts, class_="loaded")


def recording_path(suite: str, case_id: str, place: int) -> str:
    """The address of one recording on its cassette's page."""
    page = place // PER_PAGE + 1
    return path_of("cassettes", suite, case_id, page=page if page > 1 else None) + f"#recording-{place}"


def _fits(one: ShownRecording, call: ToolCall) -> bool:
    """A recording has the tool's defaults beside what the call gave, and lacks what changes by itself."""
    given = call.arguments or {}
    if not isinstance(one.arguments, dict):
        return False
    return all(one.arguments.get(name, value) == value for name, value in given.items())


def _recording(suite: str, case_id: str, place: int, one: ShownRecording) -> Markup:
    return tag(
        "section",
        tag(
            "p",
            link(recording_path(suite, case_id, place), f"Recording {place + 1}"),
            " ",
            chip(one.provenance),
            tag("span", f"after {bounded(one.after, 200) or 'no write'}", class_="dim"),
        ),
        folded_value("asked", one.arguments, _BODY),
        fold(f"{words(one.outcome)} {one.status}", shown_text(one.body, _BODY, class_="pre")),
        aria_label=f"Recording {place + 1}",
    )
