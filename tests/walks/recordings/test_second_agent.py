"""Two agents recorded against one service that makes new ids and times for every call, and both replayed."""

import itertools
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from harness.cassettes.cassette import Cassette, load_cassette, save_cassette
from harness.cassettes.recordings import Recording
from tests.gateway.models.model_server import ModelServer, Thought, serve_models
from tests.serving import Answering, listening
from tests.walks.conftest import Walk

MAIN = """\
import json, os, sys, urllib.error, urllib.request

def post(url, body):
    request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        return json.loads(urllib.request.urlopen(request).read() or b"null")
    except urllib.error.HTTPError as error:
        return json.loads(error.read())

task = {"role": "user", "content": "Note that the plants are watered."}
messages = [{"role": "system", "content": sys.argv[1]}, task]
while True:
    answer = post(os.environ["OPENAI_BASE_URL"] + "/chat/completions", {"model": "small-1", "messages": messages})
    message = answer["choices"][0]["message"]
    messages.append(message)
    if not message.get("tool_calls"):
        post(os.environ["HARNESS_GATEWAY_URL"] + "/reply", {"message": message["content"]})
        break
    for call in message["tool_calls"]:
        result = post(
            os.environ["HARNESS_GATEWAY_URL"] + "/tools/" + call["function"]["name"],
            json.loads(call["function"]["arguments"]),
        )
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(result)})
"""
SUITE = """\
agents:
  brief: {{command: [python3, "{{agent}}/main.py", brief], files: agent}}
  careful: {{command: [python3, "{{agent}}/main.py", careful], files: agent}}
servers:
  notes: {{base_url: "{notes}", disposable: true}}
tools:
  - name: add_note
    server: notes
    effect: write
    http: {{method: POST, path: /notes, body: arguments}}
    parameters: {{type: object, properties: {{text: {{type: string}}}}, required: [text]}}
  - name: tag_note
    server: notes
    effect: write
    http: {{method: PUT, path: "/notes/{{note_id}}/tags/{{number}}"}}
    parameters:
      type: object
      properties: {{note_id: {{type: string}}, number: {{type: integer}}}}
      required: [note_id, number]
  - name: get_note
    server: notes
    effect: read
    http: {{path: "/notes/{{note_id}}"}}
    parameters: {{type: object, properties: {{note_id: {{type: string}}}}, required: [note_id]}}
probes:
  - {{name: notes, api: {{server: notes, path: /count}}}}
checks:
  - {{name: done, verifier: final_answer, with: {{regex: "Done: note"}}}}
model: {{base_url: "{models}"}}
"""


LOCAL = ("--sandbox", "local", "--jobs", "1")
RECORD = ("run", "s", "--live", "all,record", *LOCAL)


@dataclass
class Notes:
    """A service with generated ids, running numbers and times of its own."""

    url: str = ""
    numbers: Iterator[int] = field(default_factory=lambda: itertools.count(501))
    kept: dict[str, dict[str, Any]] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)

    def add(self, text: str) -> dict[str, Any]:
        number = next(self.numbers)
        now = time.time_ns()
        note = {
            "id": f"note-{number:x}-{now:x}",
            "number": number,
            "number_id": number,
            "text": text,
            "created_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now / 1e9 + number)),
            "last_modified": now // 1000,
        }
        self.kept[note["id"]] = note
        return note


class Handler(Answering):
    notes: Notes

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.give(201, self.notes.add(body["text"]))

    def do_PUT(self) -> None:
        _, _, note, _, number = self.path.split("/")
        found = self.note(note)
        if found is not None and found["number_id"] == int(number):
            found["last_modified"] = time.time_ns() // 1000
            self.give(200, found)
        else:
            self.give(404, {"detail": "no such note"})

    def do_GET(self) -> None:
        found = {"notes": 1} if self.path in ("/", "/count") else self.note(self.path.split("/")[2])
        self.give(404, {"detail": "no such note"}) if found is None else self.give(200, found)

    def note(self, name: str) -> dict[str, Any] | None:
        found = self.notes.kept.get(name)
        self.notes.refused += [] if found else [name]
        return found


@contextmanager
def serve_notes() -> Iterator[Notes]:
    notes = Notes()
    with listening(type("Handler", (Handler,), {"notes": notes})) as notes.url:
        yield notes


def think(results: list[str]) -> Thought:
    """Adds a note; looks at it, tags it by its id and number, and names id and time in what it says."""
    if not results:
        return Thought("I add it.", (("add_note", {"text": "watered"}),))
    note = json.loads(results[0])
    if len(results) == 1:
        return Thought("I look.", (("get_note", {"note_id": note["id"]}),))
    if len(results) == 2:
        return Thought("I tag it.", (("tag_note", {"note_id": note["id"], "number": note["number_id"]}),))
    tagged = json.loads(results[2])
    return Thought(f"Done: note {tagged['id']} of {tagged['created_at']}, changed at {tagged['last_modified']}")


@pytest.fixture
def world(walk: Walk) -> Iterator[tuple[Notes, ModelServer]]:
    with serve_notes() as notes, serve_models() as models:
        models.think = think
        folder = walk.folder / "suites" / "s"
        (folder / "agent").mkdir(parents=True)
        (folder / "agent" / "main.py").write_text(MAIN, encoding="utf-8")
        suite = SUITE.format(notes=notes.url, models=models.url)
        (folder / "suite.yaml").write_text(suite, encoding="utf-8")
        (folder / "cases.yaml").write_text("- {id: c1, task: Note that the plants are watered.}\n", encoding="utf-8")
        yield notes, models


def replies(models: ModelServer) -> int:
    return sum(path.endswith("/chat/completions") and bool(body) for path, _, body in models.seen)


def replayed(walk: Walk, agent: str) -> dict[str, Any]:
    return walk.summary("run", "s", "--agent", agent, "--run-name", f"replayed-{agent}", *LOCAL)


@pytest.mark.slow
def test_two_agents_are_recorded_by_one_command_each_and_replayed(walk: Walk, world: tuple[Notes, ModelServer]) -> None:
    notes, models = world

    first = walk.summary("record", "s", "--agent", "brief", "--jobs", "1")
    second = walk.summary("record", "s", "--agent", "careful", "--jobs", "1")

    asked = (len(notes.kept), replies(models))
    assert (2, 8) == asked
    assert [] == notes.refused  # the service was asked for the notes that it has, not for those of the cassette
    ((once,), (again,)) = first["recorded"], second["recorded"]
    assert (8, 0, 0, {}) == tuple(once[name] for name in ("added", "kept", "levelled", "failed"))
    assert (4, 4, 3, []) == tuple(again[name] for name in ("added", "kept", "levelled", "differing"))
    answers = [walk.trial(run.name, "c1")["trajectory"]["final_output"] for run in sorted(_runs(walk))]
    assert 1 == len(set(answers)), answers

    for agent in ("brief", "careful"):
        summary = replayed(walk, agent)
        assert (0, 1.0) == (summary["counts"]["inconclusive"], summary["success"]["rate"])
        assert ({"exact": 4}, {"exact": 4}) == (summary["tiers"], summary["model_tiers"])
    assert asked == (len(notes.kept), replies(models))


@pytest.mark.slow
def test_what_really_changed_is_kept_as_it_was_and_replaced_on_refresh(
    walk: Walk, world: tuple[Notes, ModelServer]
) -> None:
    notes, _ = world
    walk(*RECORD, "--agent", "brief")
    plain = notes.add
    notes.add = lambda text: plain(text) | {"text": f"{text}!"}

    kept = walk.summary(*RECORD, "--agent", "careful")["recorded"][0]
    assert ["add_note"] == kept["differing"]
    assert 1.0 == replayed(walk, "careful")["success"]["rate"]

    words = walk("record", "s", "--sandbox", "local", "--agent", "careful", "--refresh").stdout
    # The answer that changed, and the model's reply to the task, which has call ids of its own.
    assert "2 replaced" in " ".join(words.split()), words


@pytest.mark.slow
def test_a_miss_shows_the_first_difference_in_full(walk: Walk, world: tuple[Notes, ModelServer]) -> None:
    walk(*RECORD, "--agent", "brief")
    path = walk.folder / "cassettes/s/c1.yaml"
    padding = "x" * 500

    def changed(one: Recording) -> Recording:
        """As of a service that tells something else, deep inside an answer that begins as the recorded one."""
        note = json.loads(one.body) | {"text": f"{padding} dry"} if one.mark.tool == "get_note" else None
        return one if note is None else one.model_copy(update={"body": json.dumps(note).encode()})

    save_cassette(path, Cassette(changed(one) for one in load_cassette(path).recordings), suite="s", case="c1")
    walk.summary("run", "s", "--agent", "brief", "--run-name", "changed", *LOCAL, status=1)

    misses = walk.trial("changed", "c1")["misses"]
    difference = misses[0]["nearest"][0]["difference"]
    assert difference.startswith("$.messages[5].content, as JSON: $.text: "), difference
    assert f'"{padding} dry" here, "watered" in the recording' in difference


def _runs(walk: Walk) -> list[Path]:
    return [path for path in (walk.folder / "runs").iterdir() if path.is_dir()]
