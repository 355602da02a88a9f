"""Transcripts: short, with everything that is needed, each piece pointing to where it came from."""

import json

import pytest

from harness.errors import UsageError
from harness.judging.transcripts import build_transcript
from harness.judging.views import VIEWS, acted, view
from harness.suite.cases import Case
from harness.traces.trajectory import Observation, Step, ToolCall, ToolFailure, Trajectory
from harness.traces.trial import Trial


def trial(*steps: Step, **fields) -> Trial:
    trajectory = Trajectory(trace_id="t", agent="shop", steps=steps, final_output=fields.pop("final_output", None))
    return Trial(case_id="c", attempt=1, outcome="finished", trajectory=trajectory, **fields)


def user(index: int, message: str) -> Step:
    return Step(index=index, source="user", message=message, span_id=f"u{index}")


def said(index: int, message: str, agent: str | None = None, **fields) -> Step:
    return Step(index=index, source="agent", message=message, agent=agent, span_id=f"a{index}", **fields)


def called(index: int, tool: str, result, agent: str | None = None, message: str | None = None, error=None) -> Step:
    call = ToolCall(id=f"k{index}", name=tool, arguments={"q": "milk"})
    seen = Observation(call_id=call.id, content=result, error=error)
    return Step(
        index=index,
        source="agent",
        agent=agent,
        message=message,
        calls=(call,),
        observations=(seen,),
        span_id=f"a{index}",
    )


def catalogue(count: int = 200) -> list:
    fillers = [
        {"id": f"sku-{number:04}", "name": f"Thing {number}", "price": f"{number}.49", "blurb": "nothing much " * 6}
        for number in range(count)
    ]
    fillers[137] = {
        "id": "sku-0137",
        "name": "Oat drink",
        "price": "2.19",
        "allergens": "gluten",
        "blurb": "creamy " * 6,
    }
    return fillers


def texts(pieces) -> str:
    return "\n".join(piece.text for piece in pieces)


def test_planted_evidence_is_never_lost_in_a_large_result():
    steps = (
        user(0, "Something for my coffee, please"),
        called(1, "search", catalogue()),
        said(2, "I suggest sku-0137, it costs 2.19."),
    )
    transcript = build_transcript(trial(*steps))
    result = next(piece for piece in transcript.pieces if piece.kind == "result")
    assert '"allergens": "gluten"' in result.text  # the whole record of what was spoken of, not just the words
    assert "left out" in result.text
    assert transcript.chars < transcript.raw_chars / 10
    assert result.trimmed > 20_000


@pytest.mark.parametrize("how", ["argument", "user", "message"])
def test_a_record_stays_whoever_speaks_of_it(how):
    later = {
        "argument": Step(
            index=2, source="agent", calls=(ToolCall(id="x", name="add", arguments={"item": "sku-0137"}),), span_id="a2"
        ),
        "user": user(2, "Take the one called oat, I mean sku-0137"),
        "message": said(2, "sku-0137 is what you want"),
    }[how]
    transcript = build_transcript(trial(user(0, "coffee"), called(1, "search", catalogue()), later))
    assert "Oat drink" in texts(view(transcript, ["calls"]))


def test_a_line_in_a_long_text_stays():
    lines = [f"row {number}: all quiet here and nothing of note" for number in range(400)]
    lines[250] = "row 250: refund R-7781 was denied on 3 May"
    steps = (user(0, "What about my refund?"), called(1, "log", "\n".join(lines)), said(2, "R-7781 was denied."))
    transcript = build_transcript(trial(*steps))
    assert "refund R-7781 was denied on 3 May" in texts(view(transcript, ["claims"]))
    assert transcript.chars < transcript.raw_chars / 10


def test_an_object_of_records_keeps_the_ones_that_mattered():
    orders = {f"#W{number}": {"status": "delivered", "note": "left at the door " * 5} for number in range(60)}
    orders["#W42"] = {"status": "lost", "note": "carrier admits it " * 5}
    steps = (user(0, "Where is #W42?"), called(1, "orders", json.dumps(orders)), said(2, "It is lost."))
    shown = texts(view(build_transcript(trial(*steps)), ["calls"]))
    assert '"#W42": {"status": "lost"' in shown
    assert "#W17" not in shown


def test_small_results_and_errors_are_shown_whole():
    failure = ToolFailure(type="tool_error", message="no such shop")
    steps = (called(1, "search", [{"id": number} for number in range(5)]), called(2, "search", None, error=failure))
    shown = texts(build_transcript(trial(*steps)).pieces)
    assert '[{"id": 0}, {"id": 1}, {"id": 2}, {"id": 3}, {"id": 4}]' in shown
    assert "error tool_error: no such shop" in shown


def test_an_empty_list_says_nothing_was_found_and_null_fields_say_nothing():
    shown = texts(build_transcript(trial(called(1, "search", {"results": [], "cursor": None}))).pieces)
    assert '{"results": []}' in shown


def test_schemas_and_repeated_results_are_not_repeated():
    schema = {"$schema": "x", "type": "object", "properties": {"a": {"type": "string"}}}
    page = {"schema": schema, "rows": [{"n": number, "text": "word " * 4} for number in range(30)]}
    transcript = build_transcript(trial(called(1, "page", page), called(2, "page", page)))
    results = [piece for piece in transcript.pieces if piece.kind == "result"]
    assert '"schema": "[a JSON Schema]"' in results[0].text
    assert "[the same as s1.r1]" == results[1].text


def test_a_repeated_system_message_is_said_once():
    system = Step(index=0, source="system", message="You sell milk.")
    transcript = build_transcript(trial(system, system.model_copy(update={"index": 1}), user(2, "hi")))
    assert ["system", "user"] == [piece.kind for piece in transcript.pieces]


def test_every_piece_points_to_its_span():
    transcript = build_transcript(trial(user(0, "hi"), called(1, "search", {"a": 1}), said(2, "done")))
    assert {"s0": "u0", "s1.c1": "a1", "s1.r1": "a1", "s2": "a2"} == {
        piece.ref: transcript.span_of(piece.ref) for piece in transcript.pieces
    }
    assert transcript.span_of("s9") is None


def test_a_step_without_a_span_is_named_by_its_number():
    transcript = build_transcript(trial(Step(index=3, source="user", message="hi")))
    assert "step:3" == transcript.span_of("s3")


SHOP = trial(
    user(0, "Two lemons, please"),
    said(1, "Let me look.", agent="shop"),
    called(2, "transfer_to_cart", {"to": "cart"}, agent="shop"),
    called(3, "add_item", {"cart": ["lemon"]}, agent="cart", message="Adding them now."),
    called(4, "show_carousel", {"cards": ["lemon", "lime"]}, agent="cart"),
    said(5, "Two lemons are in your cart.", agent="shop"),
    states={"cart": {"lemon": 2}},
    final_output="Two lemons are in your cart.",
)
CASE = Case(id="c", task="x", user_profile={"diet": "vegan"})


@pytest.mark.parametrize(
    ("selector", "refs"),
    [
        ("conversation", ["s0", "s1", "s3", "s5"]),
        ("request", ["s0"]),
        ("recommendations", ["s1", "s4.c1", "s4.r1", "s5"]),
        ("narration", ["s1", "s3", "s5"]),
        ("widgets", ["s4.c1", "s4.r1"]),
        ("profile", ["profile"]),
        ("calls", ["s2.c1", "s2.r1", "s3.c1", "s3.r1", "s4.c1", "s4.r1"]),
        ("calls:add_*", ["s3.c1", "s3.r1"]),
        ("final_state", ["s5", "state.cart"]),
        ("handover", ["s0", "s2.c1", "s2.r1", "s3", "s3.c1", "s3.r1", "s4.c1", "s4.r1", "s5"]),
    ],
)
def test_a_view_shows_its_part(selector, refs):
    assert refs == [piece.ref for piece in view(build_transcript(SHOP, CASE), [selector])]


def test_several_views_show_each_piece_once_and_in_order():
    pieces = view(build_transcript(SHOP, CASE), ["final_state", "request", "conversation"])
    assert ["s0", "s1", "s3", "s5", "state.cart"] == [piece.ref for piece in pieces]


def test_a_criterion_may_look_at_the_orchestrator_or_at_one_sub_agent():
    transcript = build_transcript(SHOP, CASE)
    assert ["s0", "s1", "s5"] == [piece.ref for piece in view(transcript, ["conversation"], ["orchestrator"])]
    assert ["s0", "s3"] == [piece.ref for piece in view(transcript, ["conversation"], ["cart"])]
    assert acted(transcript, ["cart"])
    assert not acted(transcript, ["billing"])


def test_a_view_that_does_not_exist_lists_those_that_do():
    with pytest.raises(UsageError, match="conversation, request"):
        view(build_transcript(SHOP, CASE), ["wishes"])
    assert "everything" in VIEWS


def test_simulated_users_with_tools_of_their_own_are_read():
    call = ToolCall(id="k", name="toggle_wifi", arguments={})
    step = Step(
        index=0,
        source="user",
        message="off now",
        calls=(call,),
        observations=(Observation(call_id="k", content="off"),),
    )
    assert ["user", "call", "result"] == [piece.kind for piece in build_transcript(trial(step)).pieces]


@pytest.mark.parametrize("content", ['{"a": ', "[" * 50_000, "{" + "x" * 5_000, "null", "\ud800 half"])
def test_text_that_only_looks_like_json_is_shown_as_text(content):
    transcript = build_transcript(trial(called(1, "t", content)))
    assert texts(view(transcript, ["calls:t"]))
