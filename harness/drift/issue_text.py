"""The text of an issue and of its comments; nothing of a tool's answer takes effect in it."""

import difflib
import json
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from shlex import quote

from pydantic import JsonValue

from harness.drift.issue import (
    CLEAN_LOOKS,
    LABEL,
    MOST_COUNTED,
    MUTE,
    IssueState,
    IssueUpdate,
    KnownChange,
    Note,
    TrackedIssue,
    marker_of,
)
from harness.runs.store.drift_report import DriftFinding, IssueDraft, Severity
from harness.text import shortened
from harness.values import digest_of

# Makes a tool's answer safe to show in an issue: it mentions nobody, links nothing, and starts no markup.
#
# An answer of a tool is untrusted text. It is shown in code spans and fences only, where Markdown does nothing with it;
# mentions and links that trackers detect there nevertheless, or in a notification's plain text, are broken by an
# invisible space.

_BREAK = "\u200b"
_BROKEN = (
    (re.compile(r"@(?=[\w`-])"), "@" + _BREAK),
    (re.compile(r"#(?=\d)"), "#" + _BREAK),
    (re.compile(r"\b(GH-)(?=\d)", re.IGNORECASE), r"\1" + _BREAK),
    (re.compile(r"<(?=!--)"), "<" + _BREAK),
    (re.compile(r"--(?=>)"), "--" + _BREAK),
    (re.compile(r"`(?=``)"), "`" + _BREAK),
    (re.compile(r"~(?=~~)"), "~" + _BREAK),
)
_CONTROL = ("Cc", "Cf", "Cs", "Zl", "Zp")
_MOST_LINES = 40
_WIDEST = 200


def harmless(text: str) -> str:
    """The text with mentions, issue numbers, HTML comments and fences broken, and control characters spelled out.

    Line ends and tabs stay; characters that change the writing direction are removed.
    """
    plain = "".join(_visible_character(char) for char in text)
    for pattern, broken in _BROKEN:
        plain = pattern.sub(broken, plain)
    return plain


def line_of(text: str, limit: int = _WIDEST) -> str:
    """The text as one line of at most `limit` characters."""
    joined = " ".join(text.split())
    return harmless(shortened(joined, limit, "…"))


def span(text: str, limit: int = _WIDEST) -> str:
    """The text as a code span that is also valid in a table."""
    plain = line_of(text, limit).replace("`", "'").replace("|", "\\|")
    return f"`{plain}`" if plain else ""


def fenced(text: str, language: str = "") -> str:
    """The text as a fenced block; the fence is longer than any inside."""
    plain = harmless(text)
    longest = max((len(run) for run in re.findall("`+", plain)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{plain}\n{fence}"


def before_and_after(before: JsonValue, after: JsonValue) -> str:
    """Two excerpts as a fenced diff; None represents an absent value."""
    old, new = _lines(before), _lines(after)
    changed = [line for line in difflib.unified_diff(old, new, lineterm="", n=3) if not line.startswith(("---", "+++"))]
    lines = [line for line in changed if not line.startswith("@@")] or [f"  {line}" for line in new]
    return fenced("\n".join(_capped(lines)), "diff")


def _lines(value: JsonValue) -> list[str]:
    return [] if value is None else json.dumps(value, indent=2, ensure_ascii=False).splitlines()


def _capped(lines: list[str]) -> Iterator[str]:
    for line in lines[:_MOST_LINES]:
        yield shortened(line, _WIDEST, "…")
    if len(lines) > _MOST_LINES:
        yield f"  … {len(lines) - _MOST_LINES} more lines"


def _visible_character(char: str) -> str:
    if char in "\n\t" or unicodedata.category(char) not in _CONTROL:
        return char
    return f"\\u{ord(char):04x}"


# The text of an issue: what changed, since when, which cases it affects, how to reproduce it, and what to do.
#
# A tool's answer is untrusted and is shown as code only. Excerpts are shown for the findings of the last check; those
# of an earlier check are carried over from the body in the tracker.

MOST_CHARACTERS = 65_536
"""GitHub's limit, which is the lowest of all trackers."""

_HEADING = re.compile(r"^#### `([0-9a-f]{12})`.*$", re.MULTILINE)
_ONE_COMMAND = re.compile(r"harness [^;&|<>$`()\\\x00-\x1f\x7f-\x9f]{1,2000}")
_MOST_NAMES = 40
_LONGEST = 600
_SIZES = ((200, 20), (200, 5), (100, 3), (100, 0), (50, 0), (20, 0), (5, 0))
"""Numbers of rows and excerpts, decreasing until the body fits."""

_WORDS = {"breaking": "breaking", "warning": "to look at", "info": "for information", "summary": "several tools"}


def draft_of(
    state: IssueState,
    command: str,
    pages: str | None = None,
    *,
    findings: Sequence[DriftFinding] = (),
    earlier_body: str = "",
    earlier_issue: str | None = None,
) -> IssueDraft:
    """The issue that describes `state`; `findings` are those of this check, for their excerpts.

    `pages`: where the run's pages are.
    `earlier_body` is the current body in the tracker, `earlier_issue` the closed issue that this one follows.
    """
    excerpts = {
        **_excerpts_in(earlier_body),
        **{one.fingerprint: before_and_after(one.before, one.after) for one in findings},
    }
    link = earlier_issue or _link_in(earlier_body)
    body = next(text for text in _bodies(state, (command, pages), excerpts, link) if len(text) <= MOST_CHARACTERS)
    return IssueDraft(
        tool=state.tool or "several tools",
        severity=_severity(state),
        title=_title(state),
        body=body,
        labels=(LABEL, f"drift:{state.about}"),
        fingerprints=tuple(sorted((*(one.fingerprint for one in state.changes if not one.is_gone), *state.more))),
    )


def _severity(state: IssueState) -> Severity:
    worst: tuple[Severity, ...] = ("breaking", "warning", "info")
    found = {change.severity for change in state.changes}
    return next((one for one in worst if one in found), "info")


def _title(state: IssueState) -> str:
    if state.about == "summary":
        return line_of(f"[drift] {state.suite}: {len(_tools(state))} more tools answer differently", 250)
    return line_of(f"[drift] {state.suite}: {state.tool} answers differently ({state.about})", 250)


def _digested_state(state: IssueState, link: str | None) -> object:
    """The part of the state that the digest covers: excerpts, and dates that change with every check, cause no
    write.
    """
    said = state.model_dump(mode="json", exclude={"looked", "last_seen", "shown", "revision"})
    return [said, link]


def _bodies(
    whole: IssueState, again: tuple[str, str | None], excerpts: Mapping[str, str], link: str | None
) -> Iterator[str]:
    command, pages = again
    for rows, shown in _SIZES:
        state = _shortened(whole, rows)
        parts = [
            _lead(state),
            *([] if link is None else [f"It was there before: {link}."]),
            *_what_changed(state, excerpts, shown),
            *_table(state),
            *_touched_lines(state),
            "### See it again",
            _command_block(command),
            *([] if pages is None else [f"[The pages of the run]({pages}) show each answer beside its recording."]),
            *_what_to_do(state),
            marker_of(state.model_copy(update={"shown": digest_of(_digested_state(state, link))})),
        ]
        yield "\n\n".join(parts) + "\n"


def _shortened(state: IssueState, rows: int) -> IssueState:
    """Omits changes that have gone first, and changes whose text exceeds the row limit."""
    kept = [one for one in _ordered(state) if len(one.operation) + len(one.path) + len(one.tool) < _LONGEST][:rows]
    left = {one.fingerprint for one in state.changes if not one.is_gone} - {one.fingerprint for one in kept}
    return state.model_copy(
        update={
            "changes": tuple(kept),
            "more": tuple(sorted({*state.more, *left}))[:MOST_COUNTED],
            "cases": state.cases[:_MOST_NAMES],
            "flips": state.flips[:_MOST_NAMES],
        }
    )


def _command_block(command: str) -> str:
    """The command as a code block, if it is a plain one: people copy it into a shell, and the report may be
    untrusted.
    """
    if _ONE_COMMAND.fullmatch(command) is None:
        return "The report names no plain command of `harness`, so that none is shown here."
    return fenced(command, "sh")


def _ordered(state: IssueState) -> tuple[KnownChange, ...]:
    """Sorts changes that have gone last."""
    return tuple(
        sorted(state.changes, key=lambda one: (one.is_gone, one.tool, one.operation, one.path, one.fingerprint))
    )


def _lead(state: IssueState) -> str:
    there = [change for change in state.changes if not change.is_gone]
    subject = f"{len(_tools(state))} tools answer" if state.about == "summary" else f"{span(state.tool)} answers"
    number = len(there) + len(state.more)
    count = f"{number} change{'' if number == 1 else 's'}"
    return (
        f"{subject} differently than recorded: **{count}**, {_WORDS[state.about]}. Suite {span(state.suite)}; "
        f"first seen {state.first_seen}, last seen {state.last_seen}."
    )


def _tools(state: IssueState) -> list[str]:
    return sorted({change.tool for change in state.changes})


def _what_changed(state: IssueState, excerpts: Mapping[str, str], most: int) -> Iterator[str]:
    chosen = [one for one in _ordered(state) if not one.is_gone and one.fingerprint in excerpts][:most]
    if chosen:
        yield "### What changed"
    for one in chosen:
        yield f"#### {_heading(one)}\n\n{excerpts[one.fingerprint]}"


def _heading(one: KnownChange) -> str:
    return " ".join(part for part in (span(one.fingerprint), span(one.operation), span(one.path)) if part)


def _table(state: IssueState) -> Iterator[str]:
    rows = _ordered(state)
    head = ["operation", "class", "path", "old → new", "since", "now", "fingerprint"]
    if state.about == "summary":
        head = ["tool", "severity", *head]
    lines = [f"| {' | '.join(head)} |", f"|{'---|' * len(head)}"]
    lines += [f"| {' | '.join(_cells(one, state.about == 'summary'))} |" for one in rows]
    yield "### Changes"
    yield "\n".join(lines)
    if state.more:
        yield f"… and {len(state.more)} more{_or_so(state)}, in the report of the look."


def _or_so(state: IssueState) -> str:
    return " at least" if len(state.more) >= MOST_COUNTED else ""


def _cells(one: KnownChange, with_tool: bool) -> list[str]:
    own = [span(one.tool), one.severity] if with_tool else []
    change = f"{span(one.old_kind, 80)} → {span(one.new_kind, 80)}"
    return [
        *own, span(one.operation), f"`{one.change}`", span(one.path), change, str(one.since), _presence_text(one),
        f"`{one.fingerprint}`",
    ]  # fmt: skip


def _presence_text(one: KnownChange) -> str:
    if one.is_gone:
        return f"gone since {one.gone}"
    return "there" if one.clean == 0 else f"not seen in {one.clean} of {CLEAN_LOOKS} looks"


def _touched_lines(state: IssueState) -> Iterator[str]:
    yield "### What it touches"
    yield f"Cases ({_count_text(state.cases)}): {_names(state.cases) or 'none that is recorded'}"
    if state.flips:
        yield f"**Verdicts that change with it** ({_count_text(state.flips)}): {_names(state.flips)}"
    else:
        yield "No verdict is known to change with it."


def _count_text(names: Sequence[str]) -> str:
    return f"{len(names)} or more" if len(names) >= _MOST_NAMES else str(len(names))


def _names(names: Sequence[str]) -> str:
    return ", ".join(span(name) for name in names)


def _what_to_do(state: IssueState) -> Iterator[str]:
    yield "### What to do"
    yield (
        f"- The tool is wrong: have it repaired. After {CLEAN_LOOKS} clean looks in a row this issue is closed.\n"
        f"- Nobody should hear of it: put the label `{MUTE}` here.\n"
        "- The change is meant: take the new answers over into the recordings, and commit them:"
    )
    yield fenced(_refresh_command(state), "sh")
    yield "This text is written by `harness issue file` and rewritten when something changes: answer below it."


def _refresh_command(state: IssueState) -> str:
    """The command that copies the new answers into the recordings. Its words are quoted for a shell: people copy it,
    and the report may be untrusted.
    """
    tool = f" --tool {quote(state.tool)}" if state.tool else ""
    return f"harness cassette refresh {quote(state.suite)} --from RUN{tool}"


def _excerpts_in(body: str) -> dict[str, str]:
    """The excerpts of an earlier body, by fingerprint. A line of a diff begins with a sign, so that none looks like a
    heading.
    """
    found = list(_HEADING.finditer(body))
    ends = [*(one.start() for one in found[1:]), len(body)]
    texts = [(one[1], body[one.end() : end]) for one, end in zip(found, ends, strict=False)]
    return {fingerprint: text.partition("\n### ")[0].strip() for fingerprint, text in texts}


def _link_in(body: str) -> str | None:
    found = re.search(r"^It was there before: (\S+)\.$", body, re.MULTILINE)
    return None if found is None else found[1]


# Comments on issues: written only if a change appeared, disappeared or returned, so that every notification reports a
# change.

_MOST = 20


def changed_note(state: IssueState, seen: IssueUpdate) -> Note | None:
    """The comment about new, returned and gone changes; None if there are none."""
    parts = [
        *_section_lines("New:", seen.new),
        *_section_lines("There again:", seen.returned),
        *_section_lines(f"Gone for {CLEAN_LOOKS} looks in a row:", seen.vanished),
    ]
    return _comment(state, "\n\n".join(parts)) if parts else None


def closing_note(state: IssueState) -> Note:
    """The comment on why the issue is closed."""
    return _comment(
        state,
        f"The tool answers as recorded again: {CLEAN_LOOKS} looks in a row exercised every path listed here and found "
        "no change. Closed; should it come back within 14 days, this issue is opened again.",
    )


def reopening_note(state: IssueState, seen: IssueUpdate, same: Collection[str]) -> Note:
    """The comment about the changes that returned."""
    back = [one for one in state.changes if one.fingerprint in same]
    return _comment(state, "\n\n".join([*_section_lines("There again:", back), *_section_lines("New:", seen.new)]))


def as_duplicate(
    state: IssueState, duplicate: TrackedIssue, other: TrackedIssue, command: str
) -> tuple[IssueDraft, Note]:
    """The draft that closes a duplicate: its state names the issue that stays, so that it is never reopened."""
    closed = state.model_copy(update={"twin_of": other.reference, "revision": state.revision + 1})
    text = f"Says the same as {other.reference}, which is older: closed as its duplicate."
    return draft_of(closed, command, earlier_body=duplicate.body), _comment(closed, text)


def _section_lines(title: str, changes: Iterable[KnownChange]) -> list[str]:
    lines = [
        f"- `{one.change}` {span(one.operation)} {span(one.path)}: {span(one.old_kind, 80)} → {span(one.new_kind, 80)} "
        f"(`{one.fingerprint}`)"
        for one in changes
    ]
    if not lines:
        return []
    more = [f"- … and {len(lines) - _MOST} more"] if len(lines) > _MOST else []
    return ["\n".join([title, "", *lines[:_MOST], *more])]


def _comment(state: IssueState, text: str) -> Note:
    """A comment whose id depends on the text and the issue's state, so that it is not written twice."""
    return Note(id=f"{state.key}-{state.revision}-{digest_of([text])[:12]}", text=text)
