"""An agent of a real framework that is asked twice, and its own exporter: `python program.py NAME RECEIVER MODEL`."""

import asyncio
import json
import os
import sys
from collections.abc import Callable
from typing import Any

TURNS = ("Where is order 4711?", "And order 4712?")
SYSTEM = "You help with orders."
AGENT = "order_helper"
USAGE = {"input": 100, "output": 10, "cached": 40}
"""Tokens of each reply; the cached ones are some of the input's."""
TOOL = {
    "name": "get_order",
    "description": "Looks up an order.",
    "parameters": {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]},
}


def get_order(order_id: str) -> dict[str, Any]:
    """Looks up an order."""
    return {"order_id": order_id, "state": "sent", "lines": [{"sku": "K-77", "count": 2}]}


def reply(number: int) -> str | dict[str, str]:
    """What the model says the `number`th time, from 0: the call's arguments, then an answer, for each turn."""
    order = ("4711", "4712")[number // 2]
    return {"order_id": order} if number % 2 == 0 else f"Order {order} was sent."


def provider(receiver: str) -> Any:
    from opentelemetry import trace
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    made = TracerProvider()
    made.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=f"{receiver}/v1/traces")))
    trace.set_tracer_provider(made)
    return made


def adk(receiver: str, model: str) -> None:
    """Its model is a class in this process; logs are sent where the environment asks for content in events."""
    provider(receiver)
    from google.adk.agents import LlmAgent
    from google.adk.models import BaseLlm, LlmResponse
    from google.adk.runners import InMemoryRunner
    from google.genai import types
    from opentelemetry._logs import get_logger_provider, set_logger_provider
    from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import BatchLogRecordProcessor

    logs = LoggerProvider()
    logs.add_log_record_processor(BatchLogRecordProcessor(OTLPLogExporter(endpoint=f"{receiver}/v1/logs")))
    set_logger_provider(logs)
    said = iter(range(4))

    class Rule(BaseLlm):
        async def generate_content_async(self, llm_request: Any, stream: bool = False) -> Any:
            told = reply(next(said))
            call = None if isinstance(told, str) else types.FunctionCall(name="get_order", args=told)
            part = types.Part(text=told) if isinstance(told, str) else types.Part(function_call=call)
            used = types.GenerateContentResponseUsageMetadata(
                prompt_token_count=USAGE["input"],
                candidates_token_count=USAGE["output"],
                cached_content_token_count=USAGE["cached"],
                total_token_count=USAGE["input"] + USAGE["output"],
            )
            yield LlmResponse(content=types.Content(role="model", parts=[part]), usage_metadata=used)

    async def talk() -> None:
        agent = LlmAgent(name=AGENT, model=Rule(model="small-1"), instruction=SYSTEM, tools=[get_order])
        runner = InMemoryRunner(agent=agent, app_name="shop")
        session = await runner.session_service.create_session(app_name="shop", user_id="u")
        for turn in TURNS:
            message = types.Content(role="user", parts=[types.Part(text=turn)])
            async for _ in runner.run_async(user_id="u", session_id=session.id, new_message=message):
                pass

    asyncio.run(talk())
    get_logger_provider().force_flush()


def strands(receiver: str, model: str) -> None:
    provider(receiver)
    from strands import Agent, tool
    from strands.models.openai import OpenAIModel

    asked = OpenAIModel(client_args={"base_url": f"{model}/v1", "api_key": "x"}, model_id="small-1")
    told = {"session.id": "strands"}
    agent = Agent(name=AGENT, model=asked, tools=[tool(get_order)], system_prompt=SYSTEM, trace_attributes=told,
                  callback_handler=None)  # fmt: skip
    for turn in TURNS:
        agent(turn)


def loop(client: Any, look: Callable[..., Any] = get_order) -> None:
    """An agent without a framework."""
    messages: list[Any] = [{"role": "system", "content": SYSTEM}]
    tools: list[Any] = [{"type": "function", "function": TOOL}]
    for turn in TURNS:
        messages.append({"role": "user", "content": turn})
        while True:
            said = client.chat.completions.create(model="small-1", messages=messages, tools=tools).choices[0].message
            messages.append(said.model_dump(exclude_none=True))
            for call in said.tool_calls or ():
                found = json.dumps(look(**json.loads(call.function.arguments)))
                messages.append({"role": "tool", "tool_call_id": call.id, "content": found})
            if not said.tool_calls:
                break


def langfuse(receiver: str, model: str) -> None:
    """By its own exporter, to its own path."""
    os.environ |= {"LANGFUSE_PUBLIC_KEY": "pk-lf-1", "LANGFUSE_SECRET_KEY": "sk-lf-1", "LANGFUSE_BASE_URL": receiver}
    from langfuse import get_client, observe, propagate_attributes
    from langfuse.openai import OpenAI

    look = observe(as_type="tool", name="get_order")(get_order)
    client = OpenAI(base_url=f"{model}/v1", api_key="x")
    with propagate_attributes(session_id="langfuse"):
        observe(as_type="agent", name=AGENT)(lambda: loop(client, look))()
    get_client().flush()


def openinference(receiver: str, model: str) -> None:
    traced = provider(receiver)
    from openai import OpenAI
    from openinference.instrumentation import using_session
    from openinference.instrumentation.openai import OpenAIInstrumentor

    OpenAIInstrumentor().instrument(tracer_provider=traced)
    with using_session("openinference"):
        loop(OpenAI(base_url=f"{model}/v1", api_key="x"))


def traceloop(receiver: str, model: str) -> None:
    """Its instrumentation of OpenAI, within a span as its decorator of workflows writes it."""
    traced = provider(receiver)
    from openai import OpenAI
    from opentelemetry.instrumentation.openai import OpenAIInstrumentor

    OpenAIInstrumentor().instrument(tracer_provider=traced)
    facts = {"traceloop.span.kind": "workflow", "traceloop.entity.name": AGENT,
             "traceloop.association.properties.session_id": "traceloop"}  # fmt: skip
    with traced.get_tracer("app").start_as_current_span(f"{AGENT}.workflow", attributes=facts):
        loop(OpenAI(base_url=f"{model}/v1", api_key="x"))


def langgraph(receiver: str, model: str) -> None:
    traced = provider(receiver)
    from langchain.agents import create_agent
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI
    from openinference.instrumentation.langchain import LangChainInstrumentor

    LangChainInstrumentor().instrument(tracer_provider=traced)
    asked = ChatOpenAI(model="small-1", base_url=f"{model}/v1", api_key="x")
    agent = create_agent(asked, [tool(get_order)], system_prompt=SYSTEM, name=AGENT)
    messages: list[Any] = []
    for turn in TURNS:
        given: Any = {"messages": [*messages, {"role": "user", "content": turn}]}
        messages = agent.invoke(given, config={"configurable": {"thread_id": "langgraph"}})["messages"]


def openai_agents(receiver: str, model: str) -> None:
    traced = provider(receiver)
    from agents import Agent, OpenAIResponsesModel, Runner, function_tool
    from openai import AsyncOpenAI
    from openinference.instrumentation import using_session
    from openinference.instrumentation.openai_agents import OpenAIAgentsInstrumentor

    OpenAIAgentsInstrumentor().instrument(tracer_provider=traced)

    async def talk() -> None:
        asked = OpenAIResponsesModel("small-1", AsyncOpenAI(base_url=f"{model}/v1", api_key="x"))
        agent: Any = Agent(name=AGENT, instructions=SYSTEM, tools=[function_tool(get_order)], model=asked)
        items: list[Any] = []
        with using_session("openai-agents"):
            for turn in TURNS:
                done = await Runner.run(agent, [*items, {"role": "user", "content": turn}])
                items = done.to_input_list()

    asyncio.run(talk())


def pydantic_ai(receiver: str, model: str) -> None:
    traced = provider(receiver)
    from pydantic_ai import Agent
    from pydantic_ai.capabilities import Instrumentation
    from pydantic_ai.models.instrumented import InstrumentationSettings
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    asked = OpenAIChatModel("small-1", provider=OpenAIProvider(base_url=f"{model}/v1", api_key="x"))
    told = [Instrumentation(InstrumentationSettings(tracer_provider=traced))]
    agent = Agent(asked, system_prompt=SYSTEM, name=AGENT, capabilities=told)
    agent.tool_plain(get_order)
    history = None
    for turn in TURNS:
        history = agent.run_sync(turn, message_history=history).all_messages()


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
    if sys.argv[1] != "langfuse":
        from opentelemetry import trace

        trace.get_tracer_provider().force_flush()
