"""An agent that asks a model and adds what it says."""

ADDER = """\
import json, os, sys, urllib.request

def ask(messages):
    request = urllib.request.Request(
        os.environ["OPENAI_BASE_URL"] + "/chat/completions",
        json.dumps({"model": "small-1", "messages": messages}).encode(),
        {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]},
    )
    return json.loads(urllib.request.urlopen(request).read())["choices"][0]["message"]

messages = [{"role": "user", "content": "Add three and four."}]
while True:
    message = ask(messages)
    messages.append(message)
    if not message.get("tool_calls"):
        break
    for call in message["tool_calls"]:
        numbers = json.loads(call["function"]["arguments"])
        result = json.dumps({"sum": sum(numbers.values())})
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": result})
"""
