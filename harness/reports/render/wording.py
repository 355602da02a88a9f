"""Texts for figures, the same in every rendering.

Case texts, answers and reasons come from agents and tools: characters that are not printable are shown as escapes, so
that no report can control a terminal or break a file format.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from harness.reports.durations import PrintedEnd
from harness.reports.replay import MissedTool
from harness.reports.summary import FailedCase, Rate, Summary, Unmeasured
from harness.reports.units import UNKNOWN, dollars, percent, percent_between
from harness.runs.store.manifest import RunManifest
from harness.scoring.registry import METRICS
from harness.scoring.scorecard import SUCCESS

if TYPE_CHECKING:
    from harness.reports.compare import Comparison


@cache
def glossary() -> str:
    """The page of `docs/reference/`, which explains the words of the reports, too."""
    return (files("harness.reports") / "glossary.md").read_text(encoding="utf-8")


@cache
def meanings() -> Mapping[str, str]:
    """Word of the glossary -> the sentence behind it."""
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|", glossary(), re.MULTILINE)
    return {name.strip(): says.replace("`", "") for names, says in rows for name in names.split(",")}


def share(rate: Rate) -> str:
    known = f"{rate.successes}/{rate.n}" if rate.n else UNKNOWN
    return f"{known} ({rate.unknown} unknown)" if rate.unknown else known


def unknown_words(rate: Rate) -> str:
    """The share of trials with unknown success, for display beside the rate."""
    return f"{rate.unknown} of {rate.n + rate.unknown}" if rate.unknown else ""


def printable(text: str, most: int | None = None) -> str:
    """One line without control characters; at most `most` characters."""
    plain = "".join(_visible(char) for char in " ".join(text.split()))
    return plain if most is None or len(plain) <= most else plain[: most - 1] + "…"


def _visible(char: str) -> str:
    return char if char.isprintable() else char.encode("unicode_escape").decode()


def model_words(manifest: RunManifest) -> str:
    return "no model" if manifest.model_mode == "none" else f"model {manifest.model_mode}"


def variable_words(variables: Mapping[str, str]) -> str:
    """In the notation of `--with`."""
    return ", ".join(f"{name}={value}" for name, value in variables.items())


def facts(manifest: RunManifest) -> list[tuple[str, str]]:
    """The conditions of the run, which a reader needs to interpret the figures."""
    sandbox = manifest.provider if manifest.isolates else f"{manifest.provider}: NOT isolated from this machine"
    found = [
        ("suite", f"{manifest.suite} {manifest.suite_digest[:12]}"),
        ("agent", f"{manifest.agent} {manifest.agent_digest[:12]}"),
        *([("variables", variable_words(manifest.variables))] if manifest.variables else []),
        *([("prompts", ", ".join(sorted(set(manifest.prompts.values()))))] if manifest.prompts else []),
        ("answers", f"tools {manifest.tool_mode}, {model_words(manifest)}"),
        ("sandbox", sandbox),
        ("snapshot", f"{manifest.snapshot or 'empty'} {manifest.snapshot_digest[:12]}"),
    ]
    return found if manifest.release is None else [*found, ("release", manifest.release)]


def unmeasured_words(summary: Summary) -> str | None:
    """The number of trials that are excluded from all denominators; None where all were measured."""
    counts = summary.counts
    kinds = {
        "inconclusive": counts.inconclusive,
        "invalidated by the simulated user": counts.simulator_failed,
        "failed by the harness": counts.harness_failed,
        "not run" if summary.stopped is None else f"not run: {summary.stopped}": counts.not_run,
    }
    named = ", ".join(f"{count} {kind}" for kind, count in kinds.items() if count)
    return f"{counts.unmeasured} of {counts.planned} trials not measured: {named}" if named else None


def service_words(one: Unmeasured) -> list[str]:
    """The last output line of each service of a failed trial."""
    return [f"service {name}: {line or 'printed nothing'}" for name, line in one.last_lines.items()]


_UNITS = ("B", "KB", "MB", "GB", "TB")


def size_words(size: int) -> str:
    """A number of bytes as `512 B`, `340 KB` or `1.0 GB`."""
    value, unit = float(size), 0
    while value >= 1024 and unit < len(_UNITS) - 1:
        value, unit = value / 1024, unit + 1
    return f"{value:.1f} {_UNITS[unit]}" if unit and value < 10 else f"{value:.0f} {_UNITS[unit]}"


def printed_head(end: PrintedEnd) -> str:
    """A heading for the lines of a stream, with the amount of discarded output."""
    if end.printed_bytes <= end.kept_bytes:
        return f"the agent's {end.stream} ended with"
    size = f"{size_words(end.printed_bytes)} printed, {size_words(end.kept_bytes)} kept"
    return (
        f"the agent's {end.stream} ({size}; {'it ended with' if end.complete else 'the last lines of what was kept'})"
    )


def printed_words(ends: Sequence[PrintedEnd], most: int | None = None) -> list[str]:
    """The last output of the agent's program: a heading for each stream, with indented lines."""
    return [
        words
        for end in ends
        for words in (f"{printed_head(end)}:", *(f"    {printable(line, most)}" for line in end.lines))
    ]


def measured_words(summary: Summary) -> str:
    counts = summary.counts
    kinds = {"reached a limit": counts.limit_reached, "agent failed": counts.agent_failed}
    named = "".join(f", {count} {kind}" for kind, count in kinds.items() if count)
    known = counts.measured - counts.undecided
    undecided = f"; {counts.undecided} more are undecided by their checks" if counts.undecided else ""
    return f"{known} of {counts.planned} trials measured{named}{undecided}"


def success_words(rate: Rate) -> str:
    if rate.rate is None:
        return "unknown: no trial was measured"
    interval = percent_between(rate.interval)
    unknown = f"; unknown for {unknown_words(rate)}" if rate.unknown else ""
    return (
        f"{rate.successes}/{rate.n} passed = {percent(rate.rate)}"
        + (f" (95 %: {interval})" if interval else "")
        + unknown
    )


def crash_words(summary: Summary) -> list[str]:
    """For a run in which every trial crashed: the end of the first trial and its last output."""
    first = summary.failed[0]
    lines = [f"  {end.stream}: {printable(line)}" for end in first.printed[:1] for line in end.lines]
    why = failure_words(first, first.reasons[:1])
    return [f"the agent crashed in every trial; {first.case_id}/{first.attempt}: {why}", *lines]


def failure_words(one: FailedCase, reasons: Sequence[str] | None = None) -> str:
    """The reasons of a trial in one line; of a program that ended itself, first what it said last."""
    words = reason_words(one.reasons if reasons is None else reasons)
    last = next((end.lines[-1] for end in one.printed if one.crashed and end.lines), None)
    return words if last is None else f"{printable(last)} ({words})"


def miss_words(miss: MissedTool) -> tuple[str, str | None]:
    """The calls without a recording, and the nearest recording; None if there is none."""
    match miss.user:
        case "unrecorded":
            said = f"no recording holds {miss.calls} message(s) of the simulated user, first {miss.example}"
            return f"{said}: the agent's message is not recorded", None
        case "diverged":
            said = f"{miss.calls} conversation(s) diverged from the log without a model, first {miss.example}"
            return said, miss.nearest
        case None:
            said = f"no recording answers {miss.calls} call(s) of {miss.tool}, first {miss.example}"
            return said, miss.nearest or f"the cassette has no recording of this {'model' if miss.model else 'tool'}"


def _again(manifest: RunManifest, verb: str) -> list[str]:
    """The words of a command for the suite of a run, with its agent, variables and prompts."""
    words = ["harness", verb, manifest.suite, "--agent", manifest.agent]
    words += [word for name, value in manifest.variables.items() for word in ("--with", f"{name}={value}")]
    words += [word for version in sorted(set(manifest.prompts.values())) for word in ("--prompt", version)]
    return words


def record_words(summary: Summary) -> str:
    """The command that records the missing calls."""
    manifest, kinds = summary.manifest, {miss.user for miss in summary.misses}
    only_users = "unrecorded" in kinds and None not in kinds
    words = _again(manifest, "run" if only_users else "record")
    users = manifest.users
    if users is not None and users.log_run is not None:
        words += ["--user", f"logged:{users.log_run}"]
    elif users is not None and users.kind is not None:
        words += ["--user", users.kind]
    if only_users:
        words += ["--live", "model,record"]
    return printable(shlex.join(words))


def remedy_words(summary: Summary) -> tuple[str, str]:
    """What can be done about calls and messages without a recording: in words, and as a command or a setting."""
    if summary.misses and all(miss.user == "diverged" for miss in summary.misses):
        return "let a model continue after a log", "`user: {model: NAME}` in suite.yaml"
    run, users = summary.manifest, {miss.user for miss in summary.misses}
    if (run.tool_mode, run.model_mode, users) == ("live", "replay", {None}):
        again = shlex.join([*_again(run, "run"), "--live", "all"])
        return "let the model answer, because live tools answer otherwise than when it was recorded", printable(again)
    return "record the missing answers", record_words(summary)


def tier_words(summary: Summary) -> str | None:
    named = ", ".join(f"{count} {tier.replace('_', ' ')}" for tier, count in summary.tiers.items() if count)
    fidelity = "" if summary.fidelity is None else f"; replay fidelity {percent(summary.fidelity)}"
    return f"tool answers: {named}{fidelity}" if named else None


_TAKEN_FROM = {
    "service": "from services",
    "double": "from doubles",
    "trajectory": "from trajectories",
    "hand": "written by hand",
}


def provenance_words(summary: Summary) -> str | None:
    """The provenance of the answers behind the figures; None without answers, or if all are from services."""
    found = {name: summary.provenances.get(name, 0) for name in _TAKEN_FROM}
    if not any(count for name, count in found.items() if name != "service"):
        return None
    named = ", ".join(f"{count} {_TAKEN_FROM[name]}" for name, count in found.items() if count)
    return f"answers by provenance: {named}"


def use_words(summary: Summary) -> str | None:
    """The sources of the model's answers and their usage; None where no model was called."""
    named = ", ".join(f"{count} {tier.replace('_', ' ')}" for tier, count in summary.model_tiers.items() if count)
    use = summary.model_use
    if use is None:
        return f"model answers: {named}" if named else None
    cost = "" if use.cost_usd is None else f", {dollars(use.cost_usd)}"
    return f"model answers: {named}; {use.input_tokens:,} tokens in, {use.output_tokens:,} out{cost}"


UNJUDGED_USERS: Final = (
    "simulated users: whether they kept to their plans is not measured without a judge; code finds empty, long and "
    "early ended messages, tool calls, role labels and secrets: harness judge run RUN --rubric user_simulator"
)


def overlay_words(summary: Summary) -> list[str]:
    """Notes about unfired faults, unused turns of the scripted user, and self-reported calls."""
    found = [f"tried again: {one.case_id}/{one.attempt}, after: {one.reason}" for one in summary.retried]
    found += [f"fault that no call triggered: {one}" for one in summary.unfired_faults]
    found += [f"message that the scripted user did not send: {one}" for one in summary.unsaid_turns]
    users = summary.manifest.users
    if users is not None and users.model is not None and users.kind != "logged" and not users.judged:
        found.append(UNJUDGED_USERS)
    if summary.manifest.tool_mode == "imported":
        return [*found, "imported trajectories: every call and result is self-reported"]
    calls = summary.self_reported_calls
    own = f"{calls} {'call is' if calls == 1 else 'calls are'} self-reported by agents: not observed by the gateway"
    return [*found, f"{own}, and they cannot make a check pass"] if calls else found


def own_metrics_first(metrics: Sequence[str]) -> list[str]:
    """The suite's own metrics before the built-in ones; the success rate is listed separately."""
    own = [name for name in metrics if name not in METRICS]
    return own + [name for name in metrics if name in METRICS and name != SUCCESS]


# The sentence that sums up a comparison of two runs; its tables stand beside it, in Markdown and in the terminal.


def change_words(comparison: "Comparison") -> str:
    change = comparison.held or comparison.success
    if change.before is None or change.after is None:
        return "nothing can be compared: no trial was measured in both runs"
    hidden = f"; {len(comparison.hidden)} passed before and cannot be determined now" if comparison.hidden else ""
    return (
        f"passed {percent(change.before)} → {percent(change.after)} over {change.pairs} pairs: "
        f"{change.better} better, {change.worse} worse, {change.same} same; {change.verdict}{hidden}"
    )


_MOST_LINES = 10
"""Lines of a reason; what is below them is folded."""


def folded(text: str, most: int = _MOST_LINES) -> str:
    """The first lines of a text, and how many more there are."""
    lines = text.strip().splitlines()
    if len(lines) <= most:
        return text.strip()
    return "\n".join([*lines[:most], f"… {len(lines) - most} more lines: harness explain RUN CASE"])


def reason_words(reasons: Sequence[str]) -> str:
    """The reasons of a trial in one line, each folded."""
    return printable("; ".join(folded(one) for one in reasons))
