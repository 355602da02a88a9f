"""Events of OpenHands: an action with its arguments, or the observation that an earlier action caused."""

from typing import Final

from harness.values import JsonObject, JsonValue

_SOURCES: Final = ("agent", "user", "environment")
_OF_THE_PROGRAM: Final = ("change_agent_state", "null", "recall")
_WITHOUT_CONTENT: Final = ("null", "agent_state_changed")


def openhands_event(item: JsonObject) -> list[JsonObject] | None:
    """The event as chat messages; empty for one of the program's own, None for what is no event."""
    if item.get("source") not in _SOURCES or not ("action" in item or "observation" in item):
        return None
    return _observation(item) if "observation" in item else _action(item)


def _observation(item: JsonObject) -> list[JsonObject]:
    if item.get("cause") is None or item["observation"] in _WITHOUT_CONTENT:
        return []
    extras = item.get("extras")
    code = extras.get("exit_code") if isinstance(extras, dict) else None
    failed = item["observation"] == "error" or (isinstance(code, int) and code not in (0, -1))
    told: JsonObject = {"role": "tool", "tool_call_id": str(item["cause"]), "content": item.get("content")}
    return [{**told, "is_error": True} if failed else told]


def _action(item: JsonObject) -> list[JsonObject]:
    arguments = item.get("args")
    args = arguments if isinstance(arguments, dict) else {}
    name = item["action"]
    if name in _OF_THE_PROGRAM:
        return []
    if name == "system":
        return [{"role": "system", "content": args.get("content")}]
    said: JsonObject = {"role": "user" if item["source"] == "user" else "assistant"}
    match name:
        case "message":
            said["content"] = args.get("content", item.get("message"))
        case "think":
            said["reasoning"] = args.get("thought")
        case "finish":
            said["content"] = _answer(args)
        case _:
            kept: JsonObject = {key: value for key, value in args.items() if key not in ("thought", "is_confirmed")}
            call: JsonObject = {"id": str(item.get("id", "")), "function": {"name": name, "arguments": kept}}
            said |= {"reasoning": args.get("thought") or None, "tool_calls": [call]}
    return [said]


def _answer(args: JsonObject) -> JsonValue:
    outputs = args.get("outputs")
    told = (
        args.get("final_thought"),
        outputs.get("content") if isinstance(outputs, dict) else None,
        args.get("thought"),
    )
    return next((one for one in told if one), "finish")
