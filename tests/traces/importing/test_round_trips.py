"""What is exported and imported again is the same, for trajectories of every shape."""

import json
import tempfile
from pathlib import Path

import atif
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import JsonValue

from harness.cassettes.credentials import Cleaner
from harness.runs.foreign_runs import import_file
from harness.traces.formats.atif import export_atif
from harness.traces.otlp import export_otlp
from harness.traces.spans import Span, spans_of
from harness.traces.trajectory import Observation, Step, ToolCall, ToolFailure, Trajectory, Usage
from harness.traces.trial import Trial


def _holds_no_credential(value: JsonValue) -> bool:
    """What stands under a name such as `apikey` is hidden on its way in."""
    return Cleaner({}).value(value) == value


TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=20)
NAME = st.text("abcdefgh_-ABC.0", min_size=1, max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
).filter(_holds_no_credential)
NANO = st.integers(0, 10**12)
ERROR = st.builds(
    ToolFailure, type=st.sampled_from(["unknown_tool", "tool_error", "timeout", "invalid_arguments"]), message=TEXT
)


@st.composite
def trajectories(draw: st.DrawFn) -> Trajectory:
    """Parallel calls, calls by the user, results without calls, broken arguments, sub-agents, missing everything."""
    steps: list[Step] = []
    for index in range(draw(st.integers(0, 5))):
        source = draw(st.sampled_from(["agent", "agent", "user", "system"]))
        calls = tuple(
            ToolCall(id=f"c{index}-{number}", name=draw(NAME), **draw(ARGUMENTS))
            for number in range(draw(st.integers(0, 3)) if source != "system" else 0)
        )
        seen = [
            Observation(
                call_id=call.id,
                content=draw(JSON),
                error=draw(st.none() | ERROR),
                replayed=draw(st.sampled_from([None, "exact", "live", "miss"])),
                duration_ms=draw(st.none() | st.floats(0, 1e6)),
            )
            for call in draw(st.permutations(calls))
            if draw(st.booleans())
        ]
        if draw(st.integers(0, 9)) == 0:
            seen.append(Observation(call_id=f"o{index}", content=draw(JSON)))
        steps.append(
            Step(
                index=index,
                source=source,
                agent=draw(st.none() | TEXT),
                parent=draw(st.none() | st.integers(0, index)) if index else None,
                message=draw(st.none() | TEXT),
                thought=draw(st.none() | TEXT),
                plan=draw(st.none() | st.lists(TEXT, max_size=2).map(tuple)),
                calls=calls,
                observations=tuple(seen),
                model=draw(st.none() | TEXT),
                usage=draw(st.none() | st.builds(Usage, input_tokens=st.integers(0, 9), cost_usd=st.floats(0, 9))),
                started_ns=draw(st.none() | NANO),
                ended_ns=draw(st.none() | NANO),
                span_id=draw(st.none() | NAME),
            )
        )
    return Trajectory(
        trace_id=draw(st.text("0123456789abcdef", min_size=32, max_size=32)),
        agent=draw(TEXT),
        version=draw(st.none() | TEXT),
        steps=tuple(steps),
        final_output=draw(JSON.filter(lambda value: value is not None)),
    )


ARGUMENTS = st.dictionaries(TEXT, JSON, max_size=3).filter(_holds_no_credential).map(
    lambda value: {"arguments": value}
) | TEXT.map(lambda text: {"arguments": None, "unparsed": text})
TRIALS = st.builds(
    Trial,
    case_id=st.just("case-1"),
    attempt=st.integers(0, 9),
    outcome=st.sampled_from(["finished", "limit_reached", "agent_failed"]),
    reason=st.none() | TEXT,
    trajectory=trajectories(),
    duration_s=st.none() | st.floats(0, 1e4),
)
QUICK = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def _imported(format: str, content: str, name: str = "file.json") -> tuple[Trial, tuple[Span, ...]]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_text(content, encoding="utf-8")
        found = list(import_file(format, path).trials)
    assert 1 == len(found)
    return found[0]


@QUICK
@given(TRIALS)
def test_a_trial_exported_to_atif_is_imported_the_same(trial: Trial) -> None:
    imported, _ = _imported("atif", json.dumps(export_atif(trial)))

    assert trial == imported


@QUICK
@given(TRIALS)
def test_the_spans_made_of_a_trial_give_its_trajectory_again(trial: Trial) -> None:
    spans = spans_of(trial)

    imported, kept = _imported("otel", "".join(f"{span.model_dump_json()}\n" for span in spans), "spans.jsonl")

    assert trial.trajectory == imported.trajectory
    assert spans == kept


@QUICK
@given(TRIALS)
def test_spans_exported_to_otlp_are_imported_the_same(trial: Trial) -> None:
    spans = spans_of(trial, started_ns=1_700_000_000_000_000_000)

    imported, kept = _imported("otel", json.dumps(export_otlp(spans)))

    assert spans == kept
    assert trial.trajectory == imported.trajectory


@QUICK
@given(
    st.lists(
        st.builds(
            Span,
            trace_id=st.just("0af7651916cd43dd8448eb211c80319c"),
            span_id=st.text("0123456789abcdef", min_size=16, max_size=16),
            parent_id=st.none() | st.just("b7ad6b7169203331"),
            name=TEXT,
            start_ns=NANO,
            end_ns=NANO,
            attributes=st.dictionaries(
                TEXT, JSON.filter(lambda value: not isinstance(value, int) or abs(value) < 2**63), max_size=4
            )
            .filter(_holds_no_credential)
            .map(lambda facts: {**facts, "gen_ai.operation.name": "chat"}),
            status=st.sampled_from(["unset", "ok", "error"]),
        ),
        min_size=1,
        max_size=4,
        unique_by=lambda span: span.span_id,
    )
)
def test_foreign_spans_pass_otlp_without_a_loss(spans: list[Span]) -> None:
    _, kept = _imported("otel", json.dumps(export_otlp(spans)))

    assert [_without_huge(span) for span in spans] == [_without_huge(span) for span in kept]


def _without_huge(span: Span) -> Span:
    """Whole numbers of more than 64 bits, which OTLP cannot hold, as the text that they become."""

    def told(value: object) -> object:
        match value:
            case bool():
                return value
            case int() if not -(2**63) <= value < 2**63:
                return str(value)
            case list():
                return [told(item) for item in value]
            case dict():
                return {name: told(item) for name, item in value.items()}
            case _:
                return value

    return span.model_copy(update={"attributes": told(span.attributes)})


@QUICK
@given(TRIALS)
def test_what_is_exported_is_atif_to_its_own_models(trial: Trial) -> None:
    document = export_atif(trial, spans=spans_of(trial, started_ns=1_700_000_000_000_000_000))

    assert len(trial.trajectory.steps) == len(atif.Trajectory.model_validate(document).steps)
