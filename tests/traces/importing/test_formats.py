"""What each format tells, read from small files written for it."""

import json
import re
import zipfile
from pathlib import Path
from typing import Any

import pytest
from backports.zstd import zipfile as zstd_zipfile

from harness.errors import InvalidDocument, UsageError
from harness.runs.foreign_runs import ImportedRun, import_file
from harness.traces.formats.found import ImportOptions
from harness.traces.trajectory import Step
from harness.traces.trial import Trial


def _trials(run: ImportedRun) -> list[Trial]:
    return [trial for trial, _ in run.trials]


def _steps(run: ImportedRun, number: int = 0) -> tuple[Step, ...]:
    return _trials(run)[number].trajectory.steps


def _told(steps: tuple[Step, ...]) -> list[tuple[str, str | None, list[str], list[Any]]]:
    return [
        (step.source, step.message, [call.name for call in step.calls], [seen.content for seen in step.observations])
        for step in steps
    ]


def _problems(run: ImportedRun) -> dict[str, int]:
    return {note.problem: note.count for note in run.notes if note.field != "tools"}


def test_an_unknown_format_is_refused_with_those_there_are(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="openai-chat"):
        import_file("excel", tmp_path)


def test_openai_parallel_calls_are_one_step_and_results_join_by_id(fixtures: Path) -> None:
    run = import_file("openai-chat", fixtures / "openai_chat.jsonl")

    assert [
        ("system", "You keep a shop.", [], []),
        ("user", "Two lamps and a chair, please.", [], []),
        ("agent", None, ["get_stock", "get_stock"], ['{"left": 0}', '{"left": 9}']),
        ("agent", "One moment.", ["place_order", "place_order"], ["Error: arguments are no JSON", "ordered"]),
        ("agent", "Two lamps are ordered; chairs are sold out.", [], []),
    ] == _told(_steps(run))
    first = _steps(run)[2]
    assert ["c2", "c1"] == [seen.call_id for seen in first.observations]
    assert {("lamps", 0): 1.0} == dict(run.rewards)
    assert ["get_stock", "place_order"] == [tool.name for tool in run.suite.tools]


def test_malformed_arguments_keep_their_text_and_repeated_ids_are_told_apart(fixtures: Path) -> None:
    run = import_file("openai-chat", fixtures / "openai_chat.jsonl")

    broken, repeated = _steps(run)[3].calls
    assert (None, '{"sku": "lamp", "count": 2') == (broken.arguments, broken.unparsed)
    assert ("c1#2", {"sku": "lamp", "count": 2}) == (repeated.id, repeated.arguments)
    ids = [call.id for call in _trials(run)[0].trajectory.calls]
    assert len(ids) == len(set(ids))
    assert {
        "a call id is used again; later calls have a number added": 1,
        "the arguments of a call are not a JSON object; their text is kept as it stands": 1,
    } == _problems(run)


def test_a_request_and_its_response_are_a_trial(fixtures: Path) -> None:
    run = import_file("openai-chat", fixtures / "openai_chat.jsonl")

    trial = _trials(run)[1]
    assert "I cannot help." == trial.trajectory.final_output
    reply = trial.trajectory.steps[-1]
    assert ("m-1-0613", 20, 4) == (reply.model, reply.usage.input_tokens, reply.usage.output_tokens)


def test_equal_tasks_without_an_id_are_attempts_at_one_case(importing: Any) -> None:
    record = {"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "x"}]}

    run = importing("openai-chat", [record, record, {**record, "task_id": "a"}, {**record, "task_id": "a", "trial": 7}])

    assert 2 == len(run.suite.cases)
    assert [0, 1, 0, 7] == [trial.attempt for trial in _trials(run)]


def test_cases_of_one_id_that_ask_different_things_are_both_kept(importing: Any) -> None:
    records = [{"task_id": "a", "messages": [{"role": "user", "content": text}]} for text in ("one", "two", "one")]

    run = importing("openai-chat", records)

    assert ["one", "two"] == [case.task for case in run.suite.cases]
    assert [case.id for case in run.suite.cases] + ["a"] == [trial.case_id for trial in _trials(run)]


def test_an_older_function_call_and_its_result_join_by_name(importing: Any) -> None:
    messages = [
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "ok"},
    ]

    assert ("agent", None, ["f"], ["ok"]) == _told(_steps(importing("openai-chat", {"messages": messages})))[1]


def test_a_result_without_a_call_is_kept_and_noted(importing: Any) -> None:
    messages = [{"role": "user", "content": "hi"}, {"role": "tool", "tool_call_id": "c9", "content": "?"}]

    run = importing("openai-chat", messages)

    assert [("user", "hi", [], ["?"])] == _told(_steps(run))
    assert {"a result belongs to no call; it is kept with the step before it": 1} == _problems(run)


def test_a_second_result_of_one_call_goes_to_no_other_call(importing: Any) -> None:
    calls = [{"id": name, "function": {"name": "f", "arguments": "{}"}} for name in ("a", "b")]
    messages = [
        {"role": "assistant", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "a", "content": "1"},
        {"role": "tool", "tool_call_id": "a", "content": "2"},
    ]

    seen = _trials(importing("openai-chat", messages))[0].trajectory.observations

    assert "1" == seen["a"].content
    assert "b" not in seen


def test_anthropic_blocks_are_calls_results_thoughts_and_texts(fixtures: Path) -> None:
    run = import_file("anthropic", fixtures / "anthropic.json")

    assert [
        ("system", "You keep a shop.", [], []),
        ("user", "Is the lamp there?", [], []),
        ("agent", "Let me see.", ["get_stock", "get_stock"], ["9 left", "no such sku"]),
        ("user", "Be quick!", [], []),
        ("agent", "Nine are left.", [], []),
    ] == _told(_steps(run))
    step = _steps(run)[2]
    assert "I look it up." == step.thought
    assert [None, "tool_error"] == [seen.error and seen.error.type for seen in step.observations]
    assert "You keep a shop." == run.suite.cases[0].system


def test_tools_can_be_declared_beside_the_file(fixtures: Path, tmp_path: Path) -> None:
    tools = tmp_path / "tools.json"
    tools.write_text('[{"type": "function", "function": {"name": "find", "parameters": {"type": "object"}}}]')

    run = import_file("tau2", fixtures / "tau2.json", ImportOptions(tools=tools))

    assert ["find", "get_line"] == sorted(tool.name for tool in run.suite.tools)


def test_tau2_users_call_tools_too(fixtures: Path) -> None:
    run = import_file("tau2", fixtures / "tau2.json")

    assert [
        ("agent", "Hi!", [], []),
        ("user", "No signal.", [], []),
        ("agent", None, ["get_line", "get_line"], ['{"bars": 0}', "Error: Line not found"]),
        ("agent", "Please switch airplane mode off.", [], []),
        ("user", None, ["toggle_airplane"], ["Airplane mode is OFF"]),
    ] == _told(_steps(run))
    [trial] = _trials(run)
    assert ("limit_reached", "max_steps", 60.0) == (trial.outcome, trial.reason, trial.duration_s)
    assert 3_500_000_000 == _steps(run)[2].started_ns
    assert ["get_line"] == [tool.name for tool in run.suite.tools]


def test_tau2_reference_is_what_the_agent_must_do(fixtures: Path) -> None:
    told, other = import_file("tau2", fixtures / "tau2.json").suite.cases

    assert [("get_line", {"line": "L1"})] == [(call.tool, call.arguments) for call in told.reference]
    assert ["DB"] == told.expected["reward_basis"]
    assert "No signal.\nYou are Ann.\nBe brief." == told.task
    assert ("telecom-2", "Say hello.", None) == (other.id, other.task, other.reference)


def test_without_a_user_the_agent_of_tau2_must_make_the_users_calls_itself(importing: Any, fixtures: Path) -> None:
    document = json.loads((fixtures / "tau2.json").read_text())
    document["info"]["user_info"] = {"implementation": "dummy_user"}
    document["tasks"][0]["ticket"] = "The customer has no signal."

    case = importing("tau2", document).suite.cases[0]

    assert ["toggle_airplane", "get_line"] == [call.tool for call in case.reference]
    assert "The customer has no signal." == case.task


def test_atif_replies_that_were_cut_apart_are_one_step_again(fixtures: Path) -> None:
    run = import_file("atif", fixtures / "atif.json")

    steps = _steps(run)
    assert ("agent", "I list them.", ["Bash", "Bash"], ["a b", "sl: not found"]) == _told(steps)[1]
    assert [None, "tool_error"] == [seen.error and seen.error.type for seen in steps[1].observations]
    assert ("ls will do", 10, 2, 0.5) == (
        steps[1].thought,
        steps[1].usage.input_tokens,
        steps[1].usage.output_tokens,
        steps[1].usage.cost_usd,
    )


def test_atif_sub_agents_stand_behind_the_step_that_started_them(fixtures: Path) -> None:
    steps = _steps(import_file("atif", fixtures / "atif.json"))

    assert [(None, None), ("counter", 2), ("counter", 2), (None, None)] == [
        (step.agent, step.parent) for step in steps[2:]
    ]
    assert "Two files.\n[image]" == steps[-1].message


def test_atif_copied_context_is_left_out_and_noted(fixtures: Path) -> None:
    run = import_file("atif", fixtures / "atif.json")

    assert 3 == len(_trials(run)[0].trajectory.calls)
    assert {
        "steps that one model reply was written as are put together": 2,
        "steps copied from an earlier trajectory are left out: they are counted there": 1,
        "a message holds parts that are not text; each is named in brackets": 1,
    } == _problems(run)


def test_atif_takes_reward_and_task_from_the_result_beside_it(fixtures: Path, tmp_path: Path) -> None:
    (tmp_path / "agent").mkdir()
    (tmp_path / "agent" / "trajectory.json").write_bytes((fixtures / "atif.json").read_bytes())
    (tmp_path / "result.json").write_text(
        '{"task_name": "count", "verifier_result": {"rewards": {"reward": 0.5}},'
        ' "exception_info": {"exception_type": "AgentTimeoutError"}}'
    )

    run = import_file("atif", tmp_path)

    assert {("count", 0): 0.5} == dict(run.rewards)
    assert ["limit_reached"] == [trial.outcome for trial in _trials(run)]


def test_inspect_samples_have_usage_durations_attachments_and_grades(fixtures: Path) -> None:
    run = import_file("inspect", fixtures / "inspect.json")

    [trial] = _trials(run)
    assert [
        ("system", "Shop.", [], []),
        ("user", "Is it there?", [], []),
        ("agent", "Looking.", ["get_stock", "get_stock"], ["9", ""]),
        ("agent", "A", [], []),
    ] == _told(trial.trajectory.steps)
    step = trial.trajectory.steps[2]
    assert ("look", 7, 2_000_000_000) == (step.thought, step.usage.input_tokens, step.ended_ns)
    assert [250.0, None] == [seen.duration_ms for seen in step.observations]
    assert "invalid_arguments" == step.observations[1].error.type
    assert (None, "{sku") == (step.calls[1].arguments, step.calls[1].unparsed)
    assert {("lamps-1", 1): 1.0} == dict(run.rewards)
    assert ["lamps-1", "lamps-two"] == [case.id for case in run.suite.cases]
    assert "Is it there?\nA) yes\nB) no" == run.suite.cases[0].task


def test_metadata_of_inspect_samples_and_tags_of_the_log_are_kept(fixtures: Path, tmp_path: Path) -> None:
    log = json.loads((fixtures / "inspect.json").read_text())
    log["eval"]["tags"] = ["nightly"]
    told = {"category": "stock", "difficulty": "Hard", "tags": ["new"], "level": 2, "ok": True, "why": "x" * 200}
    log["samples"][0]["metadata"] = told
    (tmp_path / "log.json").write_text(json.dumps(log))

    case = import_file("inspect", tmp_path / "log.json").suite.cases[0]
    assert ("stock", ("nightly", "new", "difficulty=Hard", "level=2", "ok=true"), f"why: {'x' * 200}") == (
        case.category,
        case.tags,
        case.description,
    )


def test_inspect_score_can_be_chosen(fixtures: Path) -> None:
    run = import_file("inspect", fixtures / "inspect.json", ImportOptions(score="speed"))

    assert [0.25] == list(run.rewards.values())


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zstd_zipfile.ZIP_ZSTANDARD])
def test_an_inspect_archive_is_read_sample_by_sample(fixtures: Path, tmp_path: Path, method: int) -> None:
    log = json.loads((fixtures / "inspect.json").read_text())
    path = tmp_path / "log.eval"
    with zstd_zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("header.json", json.dumps({k: v for k, v in log.items() if k != "samples"}))
        archive.writestr("samples/1_epoch_2.json", json.dumps(log["samples"][0]))

    whole, packed = import_file("inspect", fixtures / "inspect.json"), import_file("inspect", path)

    assert [trial.trajectory.steps for trial in _trials(whole)] == [t.trajectory.steps for t in _trials(packed)]
    assert dict(whole.rewards) == dict(packed.rewards)


def test_adk_cases_carry_turns_reference_and_state(fixtures: Path) -> None:
    run = import_file("adk", fixtures / "adk.evalset.json")

    lamps, talk = run.suite.cases
    assert ("Is the lamp there?", "Done.", {"name": "Ann"}) == (lamps.task, lamps.expected_output, lamps.user_profile)
    assert [("t1-0", "get_stock", ()), ("t2-1", "place_order", ("t1-0",))] == [
        (call.id, call.tool, call.after) for call in lamps.reference
    ]
    assert ["Is the lamp there?", "Two, please."] == [turn["user"] for turn in lamps.expected["turns"]]
    assert [{"author": "helper", "text": "hm"}] == lamps.expected["turns"][0]["intermediate"]
    assert ("app:shop",) == lamps.tags
    assert 0 == len(run.trials)
    assert ("Hello?", "Ask for a lamp, then thank.") == (talk.task, talk.expected["conversation_plan"])
    assert (None, ()) == (talk.user_profile, talk.tags)


def test_adk_test_files_of_the_older_schema_are_one_conversation(fixtures: Path) -> None:
    [case] = import_file("adk", fixtures / "adk_old.test.json").suite.cases

    assert ("adk_old", "Is the lamp there?", "Bye.") == (case.id, case.task, case.expected_output)
    assert [("get_stock", {"sku": "lamp"})] == [(call.tool, call.arguments) for call in case.reference]


def test_an_adk_session_is_a_trial(fixtures: Path) -> None:
    run = import_file("adk", fixtures / "adk.session.json")

    steps = _steps(run)
    assert [
        ("user", "Is the lamp there?", [], []),
        ("agent", None, ["get_stock"], [{"left": 9}]),
        ("agent", "Nine.", [], []),
    ] == _told(steps)
    assert ("clerk", "thinking", 5) == (steps[1].agent, steps[1].thought, steps[1].usage.input_tokens)
    assert 3_000_000_000 == steps[2].started_ns


def test_adk_results_give_trials_with_rewards(importing: Any, fixtures: Path) -> None:
    session = json.loads((fixtures / "adk.session.json").read_text())
    results = [
        {"eval_id": "a", "final_eval_status": 1, "session_details": session},
        {"eval_id": "a", "final_eval_status": 2, "session_details": session},
        {"eval_id": "b", "final_eval_status": 2},
    ]

    run = importing("adk", {"eval_set_result_id": "r", "eval_case_results": results})

    assert {("a", 0): 1.0, ("a", 1): 0.0} == dict(run.rewards)
    assert {"a result holds no session, so there is no trial of it": 1} == _problems(run)


@pytest.mark.parametrize(
    ("format", "name"),
    [
        ("openai-chat", "openai_chat.jsonl"),
        ("anthropic", "anthropic.json"),
        ("tau2", "tau2.json"),
        ("atif", "atif.json"),
        ("inspect", "inspect.json"),
        ("adk", "adk.session.json"),
        ("otel", "otel_structured.json"),
    ],
)
def test_an_import_is_the_same_every_time(fixtures: Path, format: str, name: str) -> None:
    once, again = (import_file(format, fixtures / name) for _ in range(2))

    assert once.suite == again.suite
    assert list(once.trials) == list(again.trials) == list(once.trials)
    assert len(once.trials) == len(list(once.trials)) > 0
    traces = [trial.trajectory.trace_id for trial in _trials(once)]
    assert len(traces) == len(set(traces))
    assert all(32 == len(trace) for trace in traces)


def test_an_imported_suite_can_be_stored_and_read_again(fixtures: Path) -> None:
    from harness.suite.suites import Suite

    suite = import_file("adk", fixtures / "adk.evalset.json").suite

    assert suite == Suite.model_validate_json(suite.model_dump_json(by_alias=True))


def test_a_file_that_changes_while_it_is_imported_is_refused(fixtures: Path, tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_bytes((fixtures / "openai_chat.jsonl").read_bytes())
    run = import_file("openai-chat", path)
    path.write_text("[]")

    with pytest.raises(InvalidDocument, match=re.escape(str(path))):
        list(run.trials)


SECRETS = {
    "key": "sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123",
    "github": "ghp_" + "a1B2" * 9,
    "bearer": "0123456789abcdefABCDEF",
    "field": "correct horse",
    "known": "plain-looking-value",
}


def test_credentials_are_taken_out_of_everything_that_is_stored(importing: Any) -> None:
    messages = [
        {"role": "system", "content": f"use {SECRETS['key']}"},
        {"role": "user", "content": f"my token is {SECRETS['github']} and {SECRETS['known']}"},
        {
            "role": "assistant",
            "content": f"Authorization: Bearer {SECRETS['bearer']}",
            "tool_calls": [
                {"id": "a", "function": {"name": "login", "arguments": f'{{"password": "{SECRETS["field"]}"}}'}},
                {"id": "b", "function": {"name": "login", "arguments": f'{{"api_key": "{SECRETS["key"]}'}},
            ],
        },
        {"role": "tool", "tool_call_id": "a", "content": f'{{"password": "{SECRETS["field"]}", "ok": true}}'},
    ]

    run = importing("openai-chat", messages, secrets={"SHOP": SECRETS["known"]})
    stored = run.suite.model_dump_json() + "".join(
        trial.model_dump_json() + "".join(span.model_dump_json() for span in spans) for trial, spans in run.trials
    )

    assert [] == [name for name, value in SECRETS.items() if value in stored]
    assert "<secret:SHOP>" in stored
    assert "what looks like a credential was replaced by a pseudonym" in _problems(run)


def test_ordinary_words_about_secrets_are_left_alone(importing: Any) -> None:
    text = "Reset my password: I forgot it. Is tokenization basic? token = tokenizer.encode(text) https://a.b/c?d=e@f"

    run = importing("openai-chat", [{"role": "user", "content": text}])

    assert text == _steps(run)[0].message
    assert {} == _problems(run)


def test_a_credential_that_begins_with_a_digit_is_counted_too(importing: Any) -> None:
    run = importing("openai-chat", [{"role": "user", "content": SECRETS["bearer"] + f" Bearer {SECRETS['bearer']}"}])
    assert {"what looks like a credential was replaced by a pseudonym": 1} == _problems(run)
