"""Prompts of agents as versions: chosen by label or version, kept in the manifest, named on spans, compared by name."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from aiohttp import web
from click.testing import CliRunner

from harness.cli.main import harness
from harness.errors import UsageError
from harness.improve.candidates import components_of, refuse_versions
from harness.improve.subject import open_subject, refuse_unforkable
from harness.reports.compare import compare_runs
from harness.runs.plan.plan import RunOptions
from harness.runs.store.folder import RunFolder
from harness.suite.loading import load_suite
from tests.judging.judge.serving import served

SUITE = """\
agents:
  v1:
    command: [python3, "{agent}/main.py"]
    files: agent
    answer: stdout
    prompts: {greeting.txt: greeting, plain.txt: null}
  bare: {command: [python3, "{agent}/main.py"], files: agent, answer: stdout}
"""
AGENT = """\
from pathlib import Path

print((Path(__file__).parent / "greeting.txt").read_text())
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    files = {
        "suites/s/suite.yaml": SUITE,
        "suites/s/cases.yaml": "- {id: a, task: Speak}\n",
        "suites/s/agent/main.py": AGENT,
        "suites/s/agent/greeting.txt": "own text",
        "suites/s/agent/plain.txt": "plain",
        "prompts/greeting/1.md": "first version",
        "prompts/greeting/2.md": "second version",
        "prompts/greeting/10.md": "tenth version",
        "prompts/greeting/labels.yaml": 'production: "1"\ncandidate: "2"\n',
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def typed(project: Path, *words: str) -> tuple[int, str]:
    done = CliRunner().invoke(harness, ["--project", str(project), *words])
    if isinstance(done.exception, UsageError):
        return 2, str(done.exception)
    return done.exit_code, done.stdout


def run(project: Path, name: str, *words: str) -> RunFolder:
    code, text = typed(project, "run", "s", *words, "--sandbox", "local", "--run-name", name)
    assert 0 == code, text
    return RunFolder.open(project / "runs" / name)


def answer(folder: RunFolder) -> str:
    (stored,) = folder.trials()
    return str(stored.trial.trajectory.final_output).strip()


@pytest.mark.parametrize(
    ("words", "version", "text"),
    [
        ((), "1", "first version"),
        (("--prompt", "@candidate"), "2", "second version"),
        (("--prompt", "greeting@10"), "10", "tenth version"),
        (("--prompt", "@candidate", "--prompt", "greeting@fallback"), "fallback", "own text"),
    ],
)
def test_the_agent_reads_the_chosen_version(project: Path, words: tuple[str, ...], version: str, text: str) -> None:
    folder = run(project, "r", *words)
    assert ({"greeting.txt": f"greeting@{version}"}, text) == (folder.manifest.prompts, answer(folder))


def test_without_labels_it_is_the_newest_version_and_without_versions_the_files_own_text(project: Path) -> None:
    (project / "prompts/greeting/labels.yaml").unlink()
    assert "tenth version" == answer(run(project, "newest"))
    for path in (project / "prompts/greeting").iterdir():
        path.unlink()
    folder = run(project, "none")
    assert ({"greeting.txt": "greeting@fallback"}, "own text") == (folder.manifest.prompts, answer(folder))


def test_a_prompt_of_the_package_is_no_prompt_of_an_agent(project: Path) -> None:
    path = project / "suites/s/suite.yaml"
    path.write_text(SUITE.replace("greeting.txt: greeting", "greeting.txt: judge"))
    assert {"greeting.txt": "judge@fallback"} == run(project, "r").manifest.prompts


def test_a_comparison_names_the_versions(project: Path) -> None:
    found = compare_runs(run(project, "now"), run(project, "next", "--prompt", "@candidate")).attribution
    (only,) = found.changed
    assert ("prompt", True, True) == (
        only.part,
        only.before.startswith("greeting@1 ("),
        only.after.startswith("greeting@2 ("),
    )
    assert "only the prompt differs: a change is caused by it or by chance" == found.verdict


def test_a_resumed_run_keeps_its_versions_when_a_label_moves(project: Path) -> None:
    run(project, "r")
    assert 0 == typed(project, "judge", "prompts", "greeting@2", "--label", "production")[0]
    code, text = typed(project, "run", "--resume", "r", "--sandbox", "local")
    assert 0 == code, text
    assert "greeting@1" in typed(project, "report", "r", "--all")[1]


def test_a_trial_can_be_forked_with_its_versions_when_a_label_moves(project: Path) -> None:
    run(project, "r")
    assert 0 == typed(project, "judge", "prompts", "greeting@2", "--label", "production")[0]
    subject = open_subject(project, "r", "a")
    refuse_unforkable(subject)
    assert ["first version"] == [one.text for one in subject.plan(RunOptions(sandbox="local")).suite.agent_prompts]


def test_a_version_is_not_optimised_in_the_place_of_its_file(project: Path) -> None:
    components = "optimise:\n  components: {guest: {role: Greets., files: [greeting.txt]}}\n"
    (project / "suites/s/suite.yaml").write_text(SUITE + components)
    suite = load_suite(project, "s")
    with pytest.raises(UsageError, match="prompts/greeting/"):
        refuse_versions(suite, components_of(suite))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("s", "--prompt", "greting@1"), "did you mean 'greeting'"),
        (("s", "--prompt", "greeting"), "expected NAME@VERSION"),
        (("s", "--prompt", "greeting@7"), "versions in prompts/greeting/: 1, 2, 10"),
        (("s", "--prompt", "greeting@../1"), "cannot be the name, version or label"),
        (("s", "--prompt", "@nobody-has-this"), "has the label 'nobody-has-this'"),
        (("s", "--agent", "bare", "--prompt", "@candidate"), "names no version under `prompts`"),
        (("--resume", "r", "--prompt", "@candidate"), "a resumed run keeps its settings"),
    ],
)
def test_what_cannot_be_is_refused(project: Path, words: tuple[str, ...], told: str) -> None:
    if "--resume" in words:
        run(project, "r")
    code, text = typed(project, "run", *words, "--sandbox", "local")
    assert 2 == code
    assert told in text


@pytest.mark.parametrize(
    ("versions", "told"),
    [("{other.txt: greeting}", "there is no file 'other.txt'"), ('{greeting.txt: "../x"}', "prompts")],
)
def test_a_wrong_declaration_is_told_with_its_place(project: Path, versions: str, told: str) -> None:
    (project / "suites/s/suite.yaml").write_text(SUITE.replace("{greeting.txt: greeting, plain.txt: null}", versions))
    code, text = typed(project, "run", "s", "--sandbox", "local")
    assert 2 == code
    assert told in text
    assert "suite.yaml" in text


ASKING = """\
import json, os
from pathlib import Path
from urllib.request import Request, urlopen

system = "Today is Monday. " + (Path(__file__).parent / "greeting.txt").read_text() + " Be brief."
ask = {"model": "m", "messages": [{"role": "system", "content": system}, {"role": "user", "content": "Hello"}]}
url = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
headers = {"Content-Type": "application/json"}
print(json.load(urlopen(Request(url, json.dumps(ask).encode(), headers)))["choices"][0]["message"]["content"])
"""
SAID = {
    "id": "1",
    "object": "chat.completion",
    "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hello."}}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1},
}


@pytest.fixture
def model() -> Iterator[str]:
    """The address of a model that says hello."""

    async def answer(_: web.Request) -> web.Response:
        return web.json_response(SAID)

    with served(answer, path="") as address:
        yield address


def test_the_span_of_a_model_request_names_the_version_that_it_holds(
    project: Path, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GREETING_KEY", "a key that is never stored")
    declared = f'model: {{base_url: "{model}/v1", api_key: GREETING_KEY, mode: live}}\n'
    (project / "suites/s/suite.yaml").write_text(SUITE + declared)
    (project / "suites/s/agent/main.py").write_text(ASKING)
    folder = run(project, "r", "--prompt", "@candidate")
    (stored,) = folder.trials()
    named = [
        (span.attributes.get("gen_ai.prompt.name"), span.attributes.get("gen_ai.prompt.version"))
        for span in stored.spans
        if "gen_ai.prompt.name" in span.attributes
    ]
    assert [("greeting", "2")] == named
    assert ("greeting@2",) == stored.trial.trajectory.prompts
    assert ["greeting@2"] == [card.prompt for card in folder.scorecards()]
