"""`make demo-real-model`: two small models are agent, user, judge and reflector, on one or two cases each.

They come from the package index (Gemma 3 with 270, SmolLM2 with 135 million parameters), and are served on this
machine. They do their work badly: what is shown is that real output (unfinished JSON, repeated text, words in another's
voice) ends in an outcome that says what happened and whose fault it was, and in no error of the harness.
"""

import json
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from harness.cassettes.cassette import load_cassette
from harness.improve.candidates import Component
from harness.improve.reflector import ReflectionRequest
from harness.improve.rollouts import Rollout
from harness.improve.trial_verdict import conversation
from harness.judging.calibration_questions import ModelReflector, proposed_text
from harness.judging.settings import JudgeSettings
from harness.runs.store.folder import RunFolder
from harness.runs.store.judgements import read_judgements
from harness.traces.trial import Trial

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
ENVIRONMENT = ROOT / ".harness" / "real-model"
MODELS = {"smollm2": ("latte", "closing-time"), "gemma3": ("latte",)}
"""The cases of each. The first one's trials are judged by each, and shown to each as reflector."""
FIRST = next(iter(MODELS))
ROLE = 'You take orders in a cafe. Answer in JSON: {"order": "the drink"} takes the order, {"say": "..."} speaks.\n'
TOOLS = '''\
def order(drink: str) -> str:
    """Takes an order."""
    return f"ordered: {drink}"
'''
WAITER = """\
import json, os, pathlib, urllib.error, urllib.request

def post(url, body):
    sent = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(sent, timeout=600) as answer:
        return answer.read()

def act(said):
    step = json.loads(said)
    if "order" in step:
        return post(f"{gateway}/tools/order", {"drink": step["order"]}).decode()
    return step["say"]

gateway = os.environ["HARNESS_GATEWAY_URL"]
role = (pathlib.Path(__file__).parent / "role.md").read_text()
told = [{"role": "system", "content": role}]
text = {"type": "string"}
steps = [{"type": "object", "properties": {name: text}, "required": [name]} for name in ("order", "say")]
schema = {"type": "json_schema", "json_schema": {"name": "step", "schema": {"anyOf": steps}}}
form = {"response_format": schema}
try:
    while turn := urllib.request.urlopen(f"{gateway}/turn", timeout=600).read():
        told.append({"role": "user", "content": json.loads(turn)["message"]})
        asked = {"model": "small", "messages": told, "max_tokens": 30, "temperature": 0}
        greets = len(told) == 2
        reply = post(os.environ["OPENAI_BASE_URL"] + "/chat/completions", asked if greets else {**asked, **form})
        said = json.loads(reply)["choices"][0]["message"]["content"]
        told.append({"role": "assistant", "content": said})
        post(f"{gateway}/reply", {"message": said if greets else act(said)})
except urllib.error.HTTPError:
    pass  # the conversation is over
"""
CASES = """\
- id: latte
  task: A latte, please.
  conversation: {plan: Ask for a small one. Then say that this is all., max_turns: 2}
- id: closing-time
  task: When do you close?
  conversation: {plan: Thank for the answer., max_turns: 2}
"""
RUBRIC = """\
name: polite
description: How the waiter speaks.
domains: {tone: 1}
criteria:
  - {id: polite, domain: tone, statement: The agent was polite., evidence: [conversation]}
"""
TOKENS = 120
"""Of a verdict; a message of the user has a third as many, a revised text twice as many."""


def main() -> int:
    """0: every trial, verdict and revision ended in the outcome that fits what the model wrote."""
    began = time.monotonic()
    with TemporaryDirectory(prefix="demo-real-model-") as folder:
        wrong = [problem for name in MODELS for problem in _tried(Path(folder), name)]
    print(f"\n{'; '.join(wrong) or 'every outcome fits'}; {time.monotonic() - began:.0f} s")
    return 1 if wrong else 0


def _tried(project: Path, name: str) -> Iterator[str]:
    """Outcomes that do not fit."""
    print(f"\n== {name}", flush=True)
    with _served(name) as url:
        settings = _written(project, name, url)
        _harness(project, "tool", "refresh", "cafe")
        typed = ["run", "cafe", *(word for case in MODELS[name] for word in ("--case", case)), "--run-name", name]
        _harness(project, *typed, "--sandbox", "local", "--live", "sealed,model", "--jobs", "1")
        trials = [stored.trial for stored in RunFolder.open(project / "runs" / name).trials()]
        yield from () if len(trials) == len(MODELS[name]) else [f"{name}: {len(trials)} trials"]
        for trial in trials:
            yield from (f"{name}, {trial.case_id}: {problem}" for problem in _problems(trial))
        first = RunFolder.open(project / "runs" / FIRST)
        _harness(project, "judge", "run", FIRST, "--rubric", str(project / "polite.yaml"))
        judged = [] if not any(first.path.glob("judge*")) else list(read_judgements(first.path, "polite"))
        for one in judged:
            if one.judge.model == name:
                print(f"judge      {one.case_id}: {one.answer} {(one.failure or one.rationale)[:160]!r}")
        recorded = sum(len(load_cassette(path)) for path in (project / "cassettes" / "cafe.judge").glob("*.json"))
        if recorded != sum(one.failure is None for one in judged):
            yield f"{name}: {recorded} answers of judges are recorded, of {[one.answer for one in judged]}"
        answer = _reflected(settings, [conversation(stored.trial) for stored in first.trials()])
        text = proposed_text(answer)
        print(f"reflector  {'refused, no text between marks' if text is None else repr(text)}: {answer[:160]!r}")


def _problems(trial: Trial) -> Iterator[str]:
    """What the trial's outcome does not say of what the models wrote."""
    user, written = trial.user, [step.message or "" for step in trial.trajectory.steps if step.model is not None]
    assert user is not None
    print(f"agent      {trial.case_id}: {trial.outcome} {trial.reason or ''}; wrote {written[-1:]}")
    print(f"user       {trial.case_id}: {user.ended} {user.reason or ''}; {user.turns} messages")
    print("           " + conversation(trial).replace("\n", "\n           "), flush=True)
    if user.ended == "simulator_failed":
        expected = "simulator_failed"
    else:
        expected = "finished" if all(map(_is_json, written[1:])) else "agent_failed"
    if trial.outcome != expected:
        yield f"{trial.outcome}, not {expected}"


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _written(project: Path, name: str, url: str) -> JudgeSettings:
    """The project of this model; the settings of it as a judge."""
    suite = project / "suites" / "cafe"
    (suite / "waiter").mkdir(parents=True, exist_ok=True)
    served = {"base_url": f"{url}/v1"}
    told = {
        "agents": {"waiter": {"command": [sys.executable, "{agent}/waiter.py"], "files": "waiter"}},
        "tools": [{"python": "tools.py", "writes": ["order"], "disposable": True}],
        "model": served,
        "user": {**served, "kind": "model", "model": name, "mode": "live", "max_tokens": TOKENS // 3},
        "limits": {"seconds": 600},
    }
    judge = {**served, "model": name, "timeout_s": 600, "in_flight": 1, "sampling": {"max_tokens": TOKENS}}
    texts = {"waiter/waiter.py": WAITER, "waiter/role.md": ROLE, "tools.py": TOOLS, "cases.yaml": CASES}
    texts |= {"suite.yaml": json.dumps(told), "../../judge.yaml": json.dumps(judge), "../../polite.yaml": RUBRIC}
    for path, text in texts.items():
        (suite / path).write_text(text, encoding="utf-8")
    return JudgeSettings.model_validate(judge)


def _reflected(settings: JudgeSettings, shown: list[str]) -> str:
    waiter = Component(name="waiter", role="Takes orders.", files=("role.md",))
    failing = tuple(Rollout(case=one, candidate="c", domains={"tone": 0.0}, conversation=one) for one in shown)
    request = ReflectionRequest(component=waiter, path="role.md", text=ROLE, failing=failing)
    return ModelReflector.of(settings, {})(request.prompt)


@contextmanager
def _served(name: str) -> Iterator[str]:
    """The address of the model's server, which ends with the block."""
    command = [_installed(), str(HERE / "serve.py"), name]
    with (
        (ENVIRONMENT / f"{name}.log").open("w") as log,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True) as process,
    ):
        assert process.stdout is not None
        try:
            address = next((line.strip() for line in process.stdout if line.startswith("http")), None)
            if address is None:
                raise SystemExit(f"{name} could not be served: {ENVIRONMENT / name}.log")
            yield address
        finally:
            process.terminate()


def _installed() -> str:
    """The Python of an environment with the server and the weights; nothing of it enters the harness's own."""
    python = str(ENVIRONMENT / "bin" / "python")
    if not (ENVIRONMENT / "installed").exists():
        venv.create(ENVIRONMENT, with_pip=True, clear=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        wanted = ["--only-binary=:all:", "--require-hashes", "-r", str(HERE / "requirements.txt")]
        if subprocess.run([*pip, *wanted], check=False).returncode != 0:
            raise SystemExit(
                "the models cannot be fetched; remedy: a package index that has the wheels of "
                f"{HERE / 'requirements.txt'} for this machine, named by PIP_INDEX_URL"
            )
        (ENVIRONMENT / "installed").touch()
    return python


def _harness(project: Path, *words: str) -> None:
    """1 is a verdict, 3 that no conversation was valid; anything else is the end of the demonstration."""
    command = [sys.executable, "-m", "harness", "--project", str(project), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1, 3):
        raise SystemExit(f"harness {' '.join(words)} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")


if __name__ == "__main__":
    sys.exit(main())
