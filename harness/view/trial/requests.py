"""A model request as it was sent, and the answer as it came; what the request repeats of the one before is folded."""

from collections.abc import Sequence

from harness.values import JsonObject, JsonValue
from harness.view.markup import Markup, fragment, tag
from harness.view.tables import facts, fold
from harness.view.trial.texts import folded_value, shown_text, value_text
from harness.view.wording import bounded

_LONG = 200_000
_PLAIN = ("model", "answered_by", "tier", "status", "input_tokens", "output_tokens", "error", "error_message")


def request_part(own: Sequence[JsonObject], earlier: Sequence[JsonObject]) -> Markup:
    """The part that a step of the timeline loads."""
    if not own:
        return tag(
            "p", "No request to a model was observed for this step: the agent itself reports it.", class_="loaded dim"
        )
    sent = own[0]
    before = earlier[-1] if earlier else {}
    known = [(key.replace("_", " "), bounded(str(sent[key]), 400)) for key in _PLAIN if sent.get(key) is not None]
    rest = [key for key in sent if key not in (*_PLAIN, "messages", "answer") and sent[key] is not None]
    same = [folded_value(key.replace("_", " "), sent[key], _LONG) for key in rest]
    return tag(
        "div",
        facts(known),
        tag("h4", "Messages sent"),
        _messages(sent.get("messages"), before.get("messages")),
        *same,
        tag("h4", "Answer"),
        shown_text(value_text(sent.get("answer")), _LONG, class_="pre"),
        class_="loaded",
    )


def _messages(sent: JsonValue, before: JsonValue) -> Markup:
    if not isinstance(sent, list):
        return shown_text(value_text(sent), _LONG, class_="pre")
    repeated = 0
    if isinstance(before, list):
        while repeated < min(len(sent), len(before)) and sent[repeated] == before[repeated]:
            repeated += 1
    parts = []
    if repeated:
        own = [_message(one) for one in sent[:repeated]]
        parts.append(fold(f"{repeated} as in the request before", *own))
    return fragment(*parts, *(_message(one) for one in sent[repeated:]))


def _message(one: JsonValue) -> Markup:
    role = str(one.get("role", "message")) if isinstance(one, dict) else "message"
    return fragment(tag("h5", bounded(role, 40)), shown_text(value_text(one), _LONG, class_="pre"))
