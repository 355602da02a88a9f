"""`make demo-real-model`: two small models are agent, user, judge and reflector, on two cases each.

They come from the package index (Gemma 3 with 270, SmolLM2 with 135 million parameters), and are served on this
machine. They do their work badly: what is shown is that real output (unfinished JSON, repeated text, no answer at all)
ends in an outcome that says what happened, and in no error of the harness.
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

from harness.gateway.models.client import ModelClient
from harness.gateway.models.recordings import ModelClientOptions
from harness.improve.candidates import Component
from harness.improve.reflector import ReflectionRequest, proposed_text
from harness.improve.rollouts import Rollout
from harness.improve.trial_verdict import conversation
from harness.judging.calibration_questions import ModelReflector
from harness.judging.settings import JudgeSettings
from harness.runs.store.folder import RunFolder
from harness.runs.store.judgements import read_judgements

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
ENVIRONMENT = ROOT / ".harness" / "real-model"
MODELS = ("smollm2", "gemma3")
ROLE = "You take orders in a cafe. Answer in one short sentence.\n"
WAITER = """\
import json, os, pathlib, urllib.error, urllib.request

def post(url, body):
    sent = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(sent, timeout=300) as answer:
        return answer.read()

gateway = os.environ["HARNESS_GATEWAY_URL"]
role = (pathlib.Path(__file__).parent / "role.md").read_text()
told = [{"role": "system", "content": role}]
try:
    while turn := urllib.request.urlopen(f"{gateway}/turn", timeout=300).read():
        told.append({"role": "user", "content": json.loads(turn)["message"]})
        asked = {"model": "small", "messages": told, "max_tokens": 40, "temperature": 0}
        said = json.loads(post(os.environ["OPENAI_BASE_URL"] + "/chat/completions", asked))
        told.append({"role": "assistant", "content": said["choices"][0]["message"]["content"]})
        post(f"{gateway}/reply", {"message": told[-1]["content"]})
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


def main() -> int:
    """0: every trial, verdict and revision ended in an outcome of its own."""
    began = time.monotonic()
    ended = [_tried(name) for name in MODELS]
    right = all(ended)
    print(f"\n{'every outcome is told' if right else 'an outcome is missing'}; {time.monotonic() - began:.0f} s")
    return 0 if right else 1


def _tried(name: str) -> bool:
    print(f"\n== {name}", flush=True)
    with TemporaryDirectory(prefix="demo-real-model-") as folder, _served(name) as url:
        project = Path(folder)
        _written(project, url)
        _harness(project, "run", "cafe", "--sandbox", "local", "--live", "model", "--jobs", "1", "--run-name", "one")
        run = RunFolder.open(project / "runs" / "one")
        trials = [stored.trial for stored in run.trials()]
        for trial in trials:
            ended = "" if trial.user is None else f"; user: {trial.user.ended}, {trial.user.turns} messages"
            print(f"agent      {trial.case_id}: {trial.outcome} {trial.reason or ''}{ended}\n{conversation(trial)}\n")
        _harness(project, "judge", "run", "one", "--rubric", str(project / "polite.yaml"))
        judged = list(read_judgements(run.path, "polite"))
        for one in judged:
            print(f"judge      {one.case_id}: {one.answer} {one.rationale[:200]!r}")
        answer = _reflected(url, [Rollout(case=trial.case_id, candidate="c", domains={"tone": 0.0},
                                          conversation=conversation(trial)) for trial in trials])  # fmt: skip
        text = proposed_text(answer)
        print(f"reflector  {'no text between marks' if text is None else repr(text[:200])}; said {answer[:200]!r}")
        return len(trials) == 2 and {one.case_id for one in judged} >= {
            trial.case_id for trial in trials if trial.outcome == "finished"
        }


def _written(project: Path, url: str) -> None:
    suite = project / "suites" / "cafe"
    (suite / "waiter").mkdir(parents=True)
    (suite / "waiter" / "waiter.py").write_text(WAITER, encoding="utf-8")
    (suite / "waiter" / "role.md").write_text(ROLE, encoding="utf-8")
    (suite / "cases.yaml").write_text(CASES, encoding="utf-8")
    served = {"base_url": f"{url}/v1", "double": True}
    told = {
        "agents": {"waiter": {"command": [sys.executable, "{agent}/waiter.py"], "files": "waiter"}},
        "model": {**served, "models": ["small"]},
        "user": {**served, "kind": "model", "model": "small", "mode": "live"},
        "limits": {"seconds": 300},
    }
    (suite / "suite.yaml").write_text(json.dumps(told), encoding="utf-8")
    (project / "judge.yaml").write_text(json.dumps({**served, "model": "small", "timeout_s": 300, "in_flight": 1}))
    (project / "polite.yaml").write_text(RUBRIC, encoding="utf-8")


def _reflected(url: str, shown: list[Rollout]) -> str:
    settings = JudgeSettings(model="small", base_url=f"{url}/v1", double=True, timeout_s=300)
    asker = ModelClient(settings.spec, settings.provider, ModelClientOptions(mode="live", sampling=settings.sampling))
    waiter = Component(name="waiter", role="Takes orders.", files=("role.md",))
    request = ReflectionRequest(component=waiter, path="role.md", text=ROLE, failing=tuple(shown))
    return ModelReflector(asker, settings.model)(request.prompt)


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
        subprocess.run([*pip, *wanted], check=True)
        (ENVIRONMENT / "installed").touch()
    return python


def _harness(project: Path, *words: str) -> None:
    """1 is a verdict, more is the end of the demonstration."""
    command = [sys.executable, "-m", "harness", "--project", str(project), *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode > 1:
        raise SystemExit(f"harness {' '.join(words)} ended with {done.returncode}\n{done.stdout}\n{done.stderr}")


if __name__ == "__main__":
    sys.exit(main())
