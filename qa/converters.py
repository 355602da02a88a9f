"""The labelled sets of others, each in a form of its own, as files of formats that `harness import` reads.

The evaluations need these sets, and know how each of them was written: which text is an action, who speaks, what tells
of an error. No importer could know it of a file. Every run becomes an ATIF trajectory with its case and its reward; the
traces of TRAIL become OTLP JSON.
"""

import ast
import json
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

from harness.runs.foreign_runs import ImportedRun, import_file
from harness.suite.scenarios import case_id
from harness.traces.formats.found import ImportOptions, task_id, trace_id, wall_ns

Call = tuple[str | None, str, Any]
"""Id, tool and arguments of a call."""
_LONGEST: Final = 200_000
"""Characters of a text in which actions are searched."""


def converted(form: str, path: Path, folder: Path) -> tuple[str, Path]:
    """(format, place): what `harness import` is given in place of the file. `form` names how the set is written."""
    if form == "trail":
        place = folder / path.name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(_trail(json.loads(path.read_text(encoding="utf-8")))), encoding="utf-8")
        return "otel", place
    attempts: Counter[str] = Counter()
    for number, run in enumerate(_RUNS[form](path)):
        attempt = attempts[run.case["id"]] if run.attempt is None else run.attempt
        attempts[run.case["id"]] = attempt + 1
        run.write(folder / f"{number:05}", trace_id(str(path), number), attempt)
    return "atif", folder


def imported(form: str, path: Path, options: ImportOptions | None = None) -> ImportedRun:
    """The runs of a file, of a format of `harness import` or of a form that is converted before."""
    if form not in CONVERTED:
        return import_file(form, path, options)
    folder = Path(tempfile.mkdtemp(dir=_kept().name)) / path.name.split(".")[0]
    format, place = converted(form, path, folder)
    return import_file(format, place, options)


@cache
def _kept() -> "tempfile.TemporaryDirectory[str]":
    """Trials are read anew from their files by every iteration, so that these stay until the program ends."""
    return tempfile.TemporaryDirectory()


@dataclass(kw_only=True)
class Run:
    """One run as the steps of an ATIF trajectory."""

    case: dict[str, Any] = field(default_factory=dict)
    attempt: int | None = None
    agent: str = "agent"
    tools: list[Any] | None = None
    reward: float | None = None
    outcome: str = "finished"
    reason: str | None = None
    output: str | None = None
    steps: list[dict[str, Any]] = field(default_factory=list)
    _open: list[tuple[int, str | None, str, str]] = field(default_factory=list)
    """Of each call without a result: its step, the id that the file gives, its id here and its tool."""

    def say(
        self,
        source: str,
        message: str | None,
        calls: Sequence[Call] = (),
        *,
        thought: str | None = None,
        agent: str | None = None,
        parent: int | None = None,
    ) -> None:
        """Appends a step."""
        place = len(self.steps)
        step: dict[str, Any] = {"step_id": place + 1, "source": source, "message": message or ""}
        own = {name: value for name, value in (("agent", agent), ("parent", parent)) if value is not None}
        if own:
            step["extra"] = {"harness": own}
        if thought:
            step["reasoning_content"] = thought
        made = []
        for number, (given, name, arguments) in enumerate(calls):
            known = f"{place}-{number}"
            made.append({"tool_call_id": known, "function_name": name, "arguments": arguments})
            self._open.append((place, given, known, name))
        if made:
            step["tool_calls"] = made
        self.steps.append(step)

    def answer(self, content: Any, *, id: str | None = None, name: str | None = None, error: Any = None) -> None:
        """Gives the oldest call with this id, else of this tool, else at all, its result."""
        ranked = (
            [one for one in self._open if id and one[1] == id],
            [one for one in self._open if name and one[3] == name],
            self._open,
        )
        found = next((ones[0] for ones in ranked if ones), None)
        if found is None:
            return
        self._open.remove(found)
        result: dict[str, Any] = {"source_call_id": found[2], "content": content}
        if error is not None:
            result["extra"] = {"harness": {"error": error}}
        self.steps[found[0]].setdefault("observation", {"results": []})["results"].append(result)

    def give_up(self) -> None:
        """No call so far waits for a result any longer."""
        self._open.clear()

    @property
    def waits(self) -> bool:
        """Whether the last step made a call that has no result yet."""
        return bool(self._open) and self._open[-1][0] == len(self.steps) - 1

    def write(self, folder: Path, trace: str, attempt: int) -> None:
        """The trajectory, and the result with its reward beside it."""
        own = {
            **{"case_id": self.case["id"], "attempt": attempt, "outcome": self.outcome, "reason": self.reason},
            **{"trace_id": trace, "final_output": self.output, "case": self.case},
        }
        agent: dict[str, Any] = {"name": self.agent, "version": "unknown"}
        if self.tools is not None:
            agent["tool_definitions"] = self.tools
        document = {
            **{"schema_version": "ATIF-v1.7", "session_id": trace, "agent": agent, "steps": self.steps},
            "extra": {"harness": own},
        }
        folder.mkdir(parents=True)
        (folder / "trajectory.json").write_text(json.dumps(document), encoding="utf-8")
        if self.reward is not None:
            result = {"verifier_result": {"rewards": {"reward": self.reward}}}
            (folder / "result.json").write_text(json.dumps(result), encoding="utf-8")


_TYPE_ERROR: Final = re.compile(
    r"[A-Za-z_.]{0,60}Error: .{0,400}(unexpected keyword argument|missing \d+ required (positional|keyword-only))"
)
_UNKNOWN: Final = re.compile(
    r"(?:Error: )?(?:Unknown (?:action|tool|function)\b|(?:No such|Unrecogni[sz]ed) (?:tool|function)\b"
    r"|Invalid (?:tool|function) name\b|No (?:tool|function) (?:is )?(?:named|called|with (?:the )?name)\b"
    r"|tool_not_found\b"
    r"|(?:Tool|Action) [\"'`]?[\w.-]{1,80}[\"'`]? (?:is )?not found"
    r"|Tool [\"'`]?[\w.-]{1,80}[\"'`]? (?:does not exist|doesn't exist|is not (?:available|defined|registered|known))"
    r"|[\"'`]?[\w.-]{1,80}[\"'`]? is not a valid (?:tool|function)\b)",
    re.I,
)
_ERROR: Final = re.compile(
    r"\s{0,8}(?:(?:[A-Za-z_.]{0,60}(?:(?-i:Error|Exception))|(?-i:error|ERROR))(?: executing tool [\w.-]{1,80})?:"
    r"|Traceback \(most recent call last\)|\[ERROR\]|fatal: |Error from \w|(?:Request failed|Failed to|Access denied|"
    r"Permission denied)\b|(?:(?:HTTP|Error|Status)(?:/\d(?:\.\d)?)?:? )?[45]\d\d(?: -|:)? (?:Bad Request|"
    r"Unauthori[sz]ed|Forbidden|Not Found|Method Not|Conflict\b|Gone\b|Payload|Request Entity|"
    r"Unprocessable|Too Many|Internal Server|Bad Gateway|Service Unavailable|Gateway Time))",
    re.I,
)
_EXIT: Final = re.compile(
    r"(?:<returncode>|exit ?code:? ?|Exit code: |\[?[Cc]ommand (?:finished|exited) with (?:exit )?code )(-?\d{1,5})"
)


def failure_in(content: Any) -> dict[str, str] | None:
    """The error that the recorder or a tool's wrapper wrote into a result, at its beginning; None: there is none."""
    if not isinstance(content, str):
        return None
    code = _EXIT.match(content[:300].lstrip())
    if _UNKNOWN.match(content):
        kind = "unknown_tool"
    elif _ERROR.match(content):
        kind = "invalid_arguments" if _TYPE_ERROR.match(content) else "tool_error"
    elif code is not None and int(code[1]) != 0:
        kind = "tool_error"
    else:
        return None
    return {"type": kind, "message": content[:500]}


def _text(content: Any) -> str | None:
    if isinstance(content, list):
        parts = [part if isinstance(part, str) else part.get("text") or f"[{part.get('type')}]" for part in content]
        return "\n".join(part for part in parts if part) or None
    return content


_FENCE: Final = re.compile(r"```([a-zA-Z0-9_-]{0,20})[ \t]*\n(.*?)(?:\n```|```|\Z)", re.S)
_THINK: Final = re.compile(r"<think>.*?(?:</think>|\Z)", re.S)
_REACT: Final = re.compile(r"(?m)^\s{0,8}Action(?: ?\d{1,3})?:\s*(?=\{)")
Acting = Callable[[str], tuple[str | None, list[Call]]]
"""The words of a reply, and the calls that it writes."""


def _fenced(languages: frozenset[str], tool: str, argument: str) -> Acting:
    def acted(reply: str) -> tuple[str | None, list[Call]]:
        plain = _THINK.sub("", reply)
        found = [one for one in _FENCE.finditer(plain[:_LONGEST]) if one[1].lower() in languages and one[2].strip()]
        said, end = [], 0
        for one in found:
            said.append(plain[end : one.start()])
            end = one.end()
        words = "".join([*said, plain[end:]]).strip()
        return words or None, [(None, tool, {argument: one[2].strip()}) for one in found]

    return acted


_shell: Final = _fenced(frozenset({"", "bash", "sh", "shell", "console", "zsh"}), "bash", "command")
_python: Final = _fenced(frozenset({"py", "python", "python3"}), "python_interpreter", "code")


def _react(reply: str) -> tuple[str | None, list[Call]]:
    """At most one call: what stands after it is invented by the model."""
    plain = _THINK.sub("", reply)
    opened = _REACT.search(plain[:_LONGEST])
    if opened is None:
        return plain.strip() or None, []
    try:
        action, end = json.JSONDecoder().raw_decode(plain, opened.end())
    except (ValueError, RecursionError):
        return plain[: opened.start()].strip() or None, [(None, "unreadable", plain[opened.end() :].strip())]
    if not isinstance(action, dict) or not isinstance(action.get("name"), str):
        return plain.strip() or None, []
    words = (plain[: opened.start()] + plain[end:]).strip()
    return words or None, [(None, action["name"], action.get("arguments", action.get("kwargs")))]


def _chat(run: Run, messages: Sequence[Mapping[str, Any]], acting: Acting | None = None) -> None:
    """Messages of one agent; `acting` reads the actions that its replies write as text."""
    for message in messages:
        role, text = message["role"], _text(message.get("content"))
        if role in ("assistant", "ai"):
            calls = [
                (one.get("id"), one["function"]["name"], one["function"].get("arguments"))
                for one in message.get("tool_calls") or ()
            ]
            thought = None
            if acting is not None and text and not calls:
                words, calls = acting(text)
                answer = _answer(calls)
                text, thought, calls = (answer, words, []) if answer else (words if calls else text, None, calls)
                run.give_up()
            run.say("agent", text, calls, thought=thought)
        elif role == "tool" or (role == "user" and acting is not None and run.waits):
            content = _text(message.get("content"))
            run.answer(content, id=message.get("tool_call_id"), name=message.get("name"), error=failure_in(content))
        else:
            run.say("user" if role == "user" else "system", text)
            for step in _told_steps(text or "") if role == "user" else ():
                run.say("agent", step[0], step[1], thought=step[2])


def _answer(calls: Sequence[Call]) -> str | None:
    """The text of an action that only speaks to the user: `respond(content)`."""
    if len(calls) != 1 or calls[0][1] != "respond" or not isinstance(calls[0][2], dict) or len(calls[0][2]) != 1:
        return None
    content = calls[0][2].get("content")
    return content if isinstance(content, str) else None


def _first(messages: Sequence[Mapping[str, Any]], *roles: str) -> str | None:
    return next((_text(one.get("content")) for one in messages if one["role"] in roles), None)


def _case(path: Path, id: str | None, task: str | None, system: str | None, **other: Any) -> dict[str, Any]:
    identity = task_id(task, system) if id is None else case_id(id)
    told = {"id": identity, "task": task or "?", "origin": path.name, **other}
    return told if system is None else {**told, "system": system}


def _tau_bench(path: Path) -> Iterator[Run]:
    """Runs of tau-bench: OpenAI's messages, or replies with `Action: {json}`."""
    for told in json.loads(path.read_text(encoding="utf-8")):
        info, messages = told.get("info") or {}, told["traj"]
        task = info.get("task") or {}
        case = _case(
            path,
            f"task-{told['task_id']}",
            task.get("instruction"),
            _first(messages, "system"),
            expected={"outputs": task.get("outputs") or []},
        )
        if task.get("actions") is not None:
            case["reference"] = [
                {"id": f"g{number}", "tool": one["name"], "arguments": one.get("kwargs", one.get("arguments")) or {}}
                for number, one in enumerate(task["actions"])
            ]
        error = info.get("error")
        cut = error is None and "reward_info" in info and info["reward_info"] is None
        run = Run(
            case=case,
            attempt=told.get("trial"),
            reward=told.get("reward"),
            outcome="harness_failed" if error else "limit_reached" if cut else "finished",
            reason=error or ("the limit of steps, before the conversation ended" if cut else None),
        )
        calls = any(message.get("tool_calls") for message in messages)
        _chat(run, messages, None if calls else _react)
        yield run


def _swe_agent(path: Path) -> Iterator[Run]:
    """SWE-agent: the history that its model was sent, with one command in a code block a reply."""
    told = json.loads(path.read_text(encoding="utf-8"))
    messages = told["history"]
    run = Run(case=_case(path, None, _first(messages, "user"), _first(messages, "system")))
    _chat(run, messages, None if any(one.get("tool_calls") for one in messages) else _shell)
    run.output = _submitted(run)
    yield run


def _mini_swe(path: Path) -> Iterator[Run]:
    """mini-swe-agent: one command in a code block a reply."""
    told = json.loads(path.read_text(encoding="utf-8"))
    messages = told["messages"]
    run = Run(case=_case(path, told["instance_id"], _first(messages, "user"), _first(messages, "system")))
    _chat(run, messages, _shell)
    run.output = _submitted(run)
    yield run


def _submitted(run: Run) -> str | None:
    """What came back for the command that hands in, which is the last."""
    last = next((step for step in reversed(run.steps) if step["source"] == "agent"), {})
    for call in reversed(last.get("tool_calls", ())):
        command = call["arguments"].get("command", "") if isinstance(call["arguments"], dict) else ""
        if "submit" in (call["function_name"], command.strip()) or "COMPLETE_TASK_AND_SUBMIT" in command:
            seen = [one["content"] for one in last.get("observation", {}).get("results", ()) if one["content"]]
            return seen[-1] if seen else last["message"] or call["function_name"]
        break
    return None


_TOOL_NAME: Final = re.compile(r"\{'name': '([^']{1,200})'")


def _toolbench(path: Path) -> Iterator[Run]:
    """Answer trees: nodes with a role and a message; a call and its response are the text of one node."""
    for name, told in json.loads(path.read_text(encoding="utf-8")).items():
        run = Run(
            tools=[*told["available_tools"], {"name": "Finish", "description": "Hands in the answer, or gives up."}]
        )
        system = None
        stack = list(reversed(told["answer"]["answer_details"]))
        while stack:
            node = stack.pop()
            stack.extend(reversed(node.get("next") or []))
            text = node.get("message")
            if node["role"] == "tool":
                _node(run, text)
            elif text:
                system = text if node["role"] == "system" and system is None else system
                run.say({"user": "user", "assistant": "agent"}.get(node["role"], "system"), text)
        run.case = _case(path, name, told["query"], system)
        run.output = _finished(run)
        yield run


def _node(run: Run, text: str) -> None:
    """A text that was cut tells its tool, and of its arguments what is left."""
    whole = _literal(text)
    found, (asked, closed, _) = _TOOL_NAME.match(text), text.partition("'arguments': '")[2].partition("', 'response'")
    if whole is not None:
        run.say("agent", None, [(None, whole["name"], whole.get("arguments"))])
        if "response" in whole:
            run.answer(whole["response"], error=failure_in(whole["response"]))
        run.give_up()
        return
    run.say(
        "agent", None, [(None, found[1] if found else "unreadable", asked.replace("\\n", "\n") if closed else text)]
    )
    run.give_up()


def _literal(text: str) -> dict[str, Any] | None:
    try:
        found = json.loads(text)
    except ValueError:
        found = None
    try:
        if not isinstance(found, dict):
            found = json.loads(json.dumps(ast.literal_eval(text.strip()), allow_nan=False))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _finished(run: Run) -> str | None:
    """The only text of the arguments that the last call, to `Finish`, hands in."""
    last = next((step for step in reversed(run.steps) if step["source"] == "agent"), {})
    calls = last.get("tool_calls", ())
    if not calls or calls[-1]["function_name"] != "Finish":
        return None
    given = calls[-1]["arguments"]
    try:
        given = json.loads(given) if isinstance(given, str) else given
    except ValueError:
        given = None
    texts = [one for one in (given if isinstance(given, dict) else {}).values() if isinstance(one, str) and one]
    seen = [one["content"] for one in last.get("observation", {}).get("results", ()) if one["content"]]
    return texts[0] if len(texts) == 1 else seen[-1] if seen else last["message"] or "Finish"


_STEP: Final = re.compile(r"(?m)^## step \d{1,4}\s*$")
_HEADING: Final = re.compile(r"(?m)^# [A-Z]")
_ACTION: Final = re.compile(r"<action>(.*?)</action>", re.S)
_INVOCATION: Final = re.compile(r"\s*([A-Za-z_][\w.]{0,60})\((.*)\)\s*(?:#[^\n]*)?\Z", re.S)


def _mirage(path: Path) -> Iterator[Run]:
    """A prompt to a web agent, which tells it of its earlier steps."""
    told = json.loads(path.read_text(encoding="utf-8"))
    messages, goal = told["input"], told.get("goal")
    task = goal if isinstance(goal, str) and goal else _first(messages, "user")
    run = Run(case=_case(path, None, task, _first(messages, "system")))
    replies = [_text(one.get("content")) or "" for one in messages if one["role"] == "assistant"]
    writes_python = 2 * sum(bool(_python(one)[1]) for one in replies) >= max(2, len(replies))
    _chat(run, messages, _python if writes_python else None)
    yield run


def _told_steps(prompt: str) -> Iterator[tuple[str | None, list[Call], str | None]]:
    starts = list(_STEP.finditer(prompt)) if "## step " in prompt else []
    ends = [match.start() for match in starts[1:]] + [len(prompt)] * bool(starts)
    for start, end in zip(starts, ends, strict=True):
        block = prompt[start.end() : end]
        closed = _HEADING.search(block)
        block = block[: closed.start()] if closed else block
        thought, told, _ = block.partition("<think>")[2].partition("</think>")
        block = _THINK.sub("", block)
        calls: list[Call] = []
        for one in _ACTION.finditer(block):
            body = one[1].strip()
            call = _INVOCATION.fullmatch(body)
            named = call is not None and "\n" not in call[1]
            calls.append(
                (None, call[1], {"arguments": call[2].strip()}) if call and named else (None, "action", {"code": body})
            )
        if calls:
            yield _ACTION.sub("", block).strip() or None, calls, thought.strip() if told else None


_MACHINE: Final = re.compile(r"(?i)(?:computer[ _-]?)?terminal|(?:code[ _-]?)?executor|environment")
_SPEAKER: Final = re.compile(r"[A-Za-z][\w .-]{0,60}?(?=\s*(?:\(.{0,80}\))?\s*\Z)", re.S)
_SENT_TO: Final = re.compile(r"\(->\s*([^)]{1,80})\)")
_MARKED: Final = re.compile(r"(?m)^\s{0,8}\**FINAL ANSWER\**:\**\s{0,4}(\S[^\n]*?)\**\s*$")
_PEOPLE: Final = ("user", "human", "user_proxy")


def _who_and_when(path: Path) -> Iterator[Run]:
    """Agents that talk: the name stands in `name`, or in the role (`Orchestrator (-> WebSurfer)`)."""
    told = json.loads(path.read_text(encoding="utf-8"))
    messages = told["history"]
    system = _first(messages, "system")
    flag = told.get("is_correct", told.get("is_corrected"))
    run = Run(case=_case(path, None, told["question"], system), reward=float(flag) if isinstance(flag, bool) else None)
    names = {one.get("name") for one in messages if one["role"] not in ("system", "developer")}
    in_group = None not in names and len(names) > 1
    sent: dict[str, int] = {}
    asides: set[int] = set()
    for message in messages:
        role, text, name = message["role"], _text(message.get("content")), message.get("name")
        source, agent = _speaker(role, name, in_group=in_group)
        if source != "agent":
            run.say(source, text, agent=agent)
            continue
        thought = "(thought)" in role
        run.say(
            "agent",
            None if thought else text,
            thought=text if thought else None,
            agent=agent,
            parent=sent.pop(agent or "", None),
        )
        to = _SENT_TO.search(role)
        if to is not None:
            sent[to[1].strip()] = len(run.steps) - 1
        if to is not None or "(termination condition)" in role:
            asides.add(len(run.steps) - 1)
    run.output = _marked(run, asides)
    yield run


def _speaker(role: str, name: str | None, *, in_group: bool) -> tuple[str, str | None]:
    """Source and agent of a message. A terminal that runs what the agents write is none."""
    known = {"system": "system", "user": "user", "human": "user", "assistant": "agent"}.get(role.strip().casefold())
    if name and in_group and known in ("user", "agent"):
        if known == "user" and name.strip().casefold() in _PEOPLE:
            return "user", None
        agent = name.strip()
    elif known is not None:
        return known, None
    else:
        found = _SPEAKER.match(role.strip())
        agent = found.group().strip() if found else role
    return ("system" if _MACHINE.fullmatch(agent) else "agent"), agent


def _marked(run: Run, asides: set[int]) -> str | None:
    """What the last message marks as the final answer, else the last that is no instruction to another agent."""
    said = [(number, step) for number, step in enumerate(run.steps) if step["source"] == "agent"]
    if asides and said:
        found = _MARKED.search(said[-1][1]["message"] or said[-1][1].get("reasoning_content") or "")
        if found is not None:
            return found[1]
    own = [
        step["message"]
        for number, step in said
        if number not in asides and "parent" not in step.get("extra", {}).get("harness", {}) and step["message"]
    ]
    return own[-1] if own else None


_RUNS: Final[Mapping[str, Callable[[Path], Iterator[Run]]]] = {
    "tau-bench": _tau_bench,
    "swe-agent": _swe_agent,
    "mini-swe": _mini_swe,
    "toolbench": _toolbench,
    "mirage": _mirage,
    "who-and-when": _who_and_when,
}
CONVERTED: Final = (*_RUNS, "trail")
"""The forms that are converted."""


_DURATION: Final = re.compile(r"P(?:(\d+)D)?T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d{1,9})\d*)?S)?")
_CALLING: Final = re.compile(r"\s*Calling tools:\s*(?=\[)")
_RESULT: Final = re.compile(r"\s*(?:Call id: (\S{1,120})\s*\n)?(Observation|Error):\s*")


def _trail(document: Mapping[str, Any]) -> dict[str, Any]:
    """Spans that hold their children as OTLP JSON, with the calls that smolagents writes into messages as calls."""
    spans: list[dict[str, Any]] = []
    stack: list[tuple[Any, str | None]] = [(one, None) for one in reversed(document["spans"])]
    while stack:
        told, parent = stack.pop()
        spans.append(_span(told, parent))
        stack.extend((one, told["span_id"]) for one in reversed(told.get("child_spans") or []))
    return {"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}


def _span(told: Mapping[str, Any], parent: str | None) -> dict[str, Any]:
    began = _nanoseconds(told["timestamp"])
    attributes = dict(told.get("span_attributes") or {})
    if attributes.get("openinference.span.kind") == "LLM":
        attributes = _with_calls(attributes)
    code = {"ok": 1, "error": 2}.get(str(told.get("status_code")).lower(), 0)
    return {
        **{"traceId": told["trace_id"], "spanId": told["span_id"], "name": told["span_name"]},
        "parentSpanId": told.get("parent_span_id") or parent or "",
        "startTimeUnixNano": str(began),
        "endTimeUnixNano": str(began + _lasted(told.get("duration") or "")),
        "attributes": attributes,
        "events": [
            {
                "name": one.get("Name", one.get("name")) or "",
                "timeUnixNano": str(_nanoseconds(one.get("Timestamp", one.get("timestamp")))),
                "attributes": one.get("Attributes", one.get("attributes")) or {},
            }
            for one in told.get("events") or ()
        ],
        "status": {"code": code},
    }


def _nanoseconds(moment: str) -> int:
    return wall_ns(moment) or 0


def _lasted(duration: str) -> int:
    found = _DURATION.fullmatch(duration)
    if found is None:
        return 0
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups()[:4])
    whole = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    return whole * 10**9 + int((found[5] or "0").ljust(9, "0"))


_SENT: Final = re.compile(
    r"llm\.(input|output)_messages\.(\d+)\.message\.(role|content|contents\.\d+\.message_content\.text)"
)


def _with_calls(attributes: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a model call, with its messages under the conventions' names."""
    told: dict[str, dict[int, dict[str, str]]] = {"input": {}, "output": {}}
    for name, value in attributes.items():
        found = _SENT.fullmatch(name)
        if found is not None and isinstance(value, str):
            message = told[found[1]].setdefault(int(found[2]), {})
            key = "role" if found[3] == "role" else "content"
            message[key] = f"{message[key]}\n{value}" if key == "content" and key in message else value
    sent = [told["input"][number] for number in sorted(told["input"])]
    if not sent:
        try:
            given = json.loads(attributes.get("input.value") or "null")
        except ValueError:
            given = None
        sent = given["messages"] if isinstance(given, dict) and isinstance(given.get("messages"), list) else []
    written = {"gen_ai.input.messages": json.dumps([_message(one, "user") for one in sent])} if sent else {}
    return {**attributes, **written}


def _message(told: Mapping[str, Any], default: str) -> dict[str, Any]:
    """`Calling tools:` and a list is a reply's calls; `Observation:` or `Error:` behind a call's id is a result."""
    role, text = told.get("role") or default, _text(told.get("content")) or ""
    calls = _listed_calls(text)
    if calls:
        parts = [{"type": "tool_call", "id": id, "name": name, "arguments": asked} for id, name, asked in calls]
        return {"role": "assistant", "parts": parts}
    opened = _RESULT.match(text)
    answers = role == "tool-response"
    if opened is not None and (opened[1] or answers):
        content = text[opened.end() :].strip()
        part = {"type": "tool_result", "tool_use_id": opened[1], "content": content}
        return {"role": "tool", "parts": [{**part, "is_error": True} if opened[2] == "Error" else part]}
    if answers:
        return {"role": "tool", "parts": [{"type": "tool_result", "tool_use_id": None, "content": text}]}
    return {"role": "assistant" if role == "tool-call" else role, "parts": [{"type": "text", "content": text}]}


def _listed_calls(text: str) -> list[Call]:
    opened = _CALLING.match(text)
    if opened is None or len(text) > _LONGEST:
        return []
    try:
        listed = json.loads(json.dumps(ast.literal_eval(text[opened.end() :].strip()), allow_nan=False))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return []
    functions = [(one.get("id"), one.get("function") or {}) for one in listed if isinstance(one, dict)]
    calls = ((id, one.get("name"), one.get("arguments")) for id, one in functions)
    return [
        (id, name, {"code": asked} if name == "python_interpreter" and isinstance(asked, str) else asked)
        for id, name, asked in calls
        if isinstance(name, str)
    ]
