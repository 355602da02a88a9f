"""A small project for what may go wrong around a run: a sealed state, a recorded tool, text that is not ASCII."""

from pathlib import Path

SUITE = "späti"
CASES = 4
_SUITE = """\
description: Ein Kiosk, 東京, Ω
agents:
  v1: {command: [python3, "{agent}/main.py"], files: agent}
environment: kiosk
snapshot: open
tools:
  - {python: tools.py, reads: ["*"]}
checks:
  - {name: told, verifier: final_answer, with: {contains: Brötchen}}
  - {name: noted, verifier: files, with: {added: [/work/Notiz.txt]}}
limits: {seconds: 120, memory_mb: 64, disk_mb: 8}
"""
_AGENT = """\
import json, os, time, urllib.request
door = os.environ["HARNESS_GATEWAY_URL"]

def ask(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(door + path, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.loads(answer.read() or "null")

found = ask("/tools/look", {"shelf": ask("/turn")["message"]})
time.sleep(0.3)
with open("Tür.txt", encoding="utf-8") as door_text, open("Notiz.txt", "w", encoding="utf-8") as note:
    note.write(found["on"] + door_text.read())
ask("/reply", {"message": found["on"]})
"""
_TOOLS = """\
def look(shelf: str) -> dict:
    "Was im Regal liegt."
    return {"shelf": shelf, "on": "Brötchen und Äpfel"}
"""


def write_project(folder: Path) -> None:
    """Nothing is sealed or recorded yet."""
    suite, state = folder / "suites" / SUITE, folder / "images" / "kiosk" / "open" / "work"
    (suite / "agent").mkdir(parents=True)
    state.mkdir(parents=True)
    cases = "".join(f"- {{id: Regal-{number}, task: 'Regal Nr. {number}: Größe?'}}\n" for number in range(CASES))
    for path, text in {
        suite / "suite.yaml": _SUITE,
        suite / "cases.yaml": cases,
        suite / "agent" / "main.py": _AGENT,
        suite / "tools.py": _TOOLS,
        state.parent.parent / "environment.yaml": "image: base\nstates:\n  open: {files: open}\n",
        state / "Tür.txt": "offen\n",
    }.items():
        path.write_text(text, encoding="utf-8")
