"""An agent on one provider's own SDK, with a tool inside the program: `agent.py FORMAT [stream|refused]`.

Nothing here names the gateway: the SDKs find it by the variables that they read themselves.
"""

import json
import os
import sys
from collections.abc import Callable
from typing import Any

SYSTEM = "You take orders."
SCHEMA = {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]}
Call = tuple[str, str, dict[str, Any]]


def look(q: str) -> str:
    return json.dumps({"here": q})


def gemini(mode: str) -> str:
    from google import genai
    from google.genai import types

    client = genai.Client()
    declared = types.FunctionDeclaration(name="look", description="Finds items.", parameters_json_schema=SCHEMA)
    search = [types.Tool(google_search=types.GoogleSearch())]
    tools = search if mode == "refused" else [types.Tool(function_declarations=[declared])]
    config = types.GenerateContentConfig(system_instruction=SYSTEM, tools=tools, temperature=0)
    contents = [types.Content(role="user", parts=[types.Part(text="Eggs?")])]
    while True:
        asked = {"model": "small-1", "contents": contents, "config": config}
        if mode == "stream":
            chunks = list(client.models.generate_content_stream(**asked))
            assert len(chunks) > 2
            parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts or []]
        else:
            parts = client.models.generate_content(**asked).candidates[0].content.parts
        contents.append(types.Content(role="model", parts=parts))
        calls = [part.function_call for part in parts if part.function_call]
        if not calls:
            return "".join(part.text for part in parts if part.text and not part.thought)
        answers = [types.Part.from_function_response(name=c.name, response={"result": look(**c.args)}) for c in calls]
        contents.append(types.Content(role="user", parts=answers))


def azure(mode: str) -> str:
    from openai import AzureOpenAI

    client = AzureOpenAI(api_version="2024-10-21", max_retries=0)
    function = {"name": "look", "description": "Finds items.", "parameters": SCHEMA}
    tools = [{"type": "web_search"}] if mode == "refused" else [{"type": "function", "function": function}]
    usage = {"include_usage": True}
    messages: list[dict[str, Any]] = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "Eggs?"}]
    while True:
        asked = {"model": "small-1", "messages": messages, "tools": tools}
        if mode == "stream":
            content, calls = joined(list(client.chat.completions.create(**asked, stream=True, stream_options=usage)))
        else:
            message = client.chat.completions.create(**asked).choices[0].message
            content, calls = (
                message.content,
                [(c.id, c.function.name, c.function.arguments) for c in message.tool_calls or []],
            )
        if not calls:
            return str(content)
        told = [{"id": i, "type": "function", "function": {"name": n, "arguments": a}} for i, n, a in calls]
        messages.append({"role": "assistant", "content": content, "tool_calls": told})
        for identity, _, arguments in calls:
            result = look(**json.loads(arguments))
            messages.append({"role": "tool", "tool_call_id": identity, "content": result})


def joined(chunks: list[Any]) -> tuple[str, list[tuple[str, str, str]]]:
    """The text of a stream, and the id, name and arguments of each call."""
    assert len(chunks) > 2
    text = ""
    calls: dict[int, list[str]] = {}
    for delta in (choice.delta for chunk in chunks for choice in chunk.choices):
        text += delta.content or ""
        for piece in delta.tool_calls or []:
            call = calls.setdefault(piece.index, ["", "", ""])
            call[0] += piece.id or ""
            call[1] += piece.function.name or ""
            call[2] += piece.function.arguments or ""
    return text, [(call[0], call[1], call[2]) for call in calls.values()]


def responses(mode: str) -> str:
    from openai import AzureOpenAI

    client = AzureOpenAI(api_version="2025-04-01-preview", max_retries=0)
    tools = (
        [{"type": "web_search"}] if mode == "refused" else [{"type": "function", "name": "look", "parameters": SCHEMA}]
    )
    items: list[Any] = [{"role": "user", "content": "Eggs?"}]
    while True:
        reply = client.responses.create(model="small-1", instructions=SYSTEM, input=items, tools=tools)
        calls = [item for item in reply.output if item.type == "function_call"]
        if not calls:
            return str(reply.output_text)
        items += [item.to_dict() for item in reply.output]
        for call in calls:
            output = look(**json.loads(call.arguments))
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": output})


def accumulated(mode: str) -> str:
    """The calls of a stream as the SDK puts them together itself."""
    if mode == "anthropic":
        from anthropic import Anthropic

        user = {"role": "user", "content": "Eggs?"}
        with Anthropic().messages.stream(model="small-1", max_tokens=100, messages=[user]) as stream:
            used = [block for block in stream.get_final_message().content if block.type == "tool_use"]
        return json.dumps([[block.name, block.input] for block in used])
    if mode == "gemini":
        from google import genai

        client = genai.Client()  # it is closed once nothing names it
        chat = client.chats.create(model="small-1")
        assert list(chat.send_message_stream("Eggs?"))
        parts = [part for content in chat.get_history() for part in content.parts or []]
        return json.dumps([[part.function_call.name, part.function_call.args] for part in parts if part.function_call])
    from openai import OpenAI

    client = OpenAI()
    if mode == "stream":
        asked = {"role": "user", "content": "Eggs?"}
        tools = [{"type": "function", "function": {"name": "look", "parameters": SCHEMA}}]
        with client.chat.completions.stream(model="small-1", messages=[asked], tools=tools) as stream:
            calls = [call.function for call in stream.get_final_completion().choices[0].message.tool_calls]
    else:
        with client.responses.stream(model="small-1", input="Eggs?") as stream:
            calls = [item for item in stream.get_final_response().output if item.type == "function_call"]
    return json.dumps([[call.name, json.loads(call.arguments)] for call in calls])


FORMATS: dict[str, Callable[[str], str]] = {
    "gemini": gemini,
    "azure": azure,
    "responses": responses,
    "accumulated": accumulated,
}

if __name__ == "__main__":
    name, mode = sys.argv[1], sys.argv[2]
    try:
        said = FORMATS[name](mode)
    except Exception as error:
        if mode != "refused":
            raise
        said = f"{type(error).__name__}: {error}"
    assert "real" not in str(dict(os.environ))
    print(said)
