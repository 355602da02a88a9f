"""A small project with all that a kill can leave behind: an image, a seal, a database, a server on standard streams."""

import sqlite3
from contextlib import closing
from pathlib import Path

SUITE_NAME = "garden"
SUITE = """\
agents:
  v1: {command: [python3, "{agent}/main.py", "3"], files: agent}
  v0: {command: [python3, "{agent}/main.py", "1"], files: agent}
environment: yard
snapshot: shut
tools:
  - {python: tools.py, reads: ["*"], writes: [plant], disposable: true}
  - sandbox: [shell]
probes:
  - {name: garden, sql: {path: /work/garden.db, tables: ["*"]}}
checks:
  - {name: told, verifier: final_answer, with: {contains: planted}}
  - {name: counted, verifier: "checks.py:Counted"}
  - {name: rows, verifier: sql, with: {probe: garden, changes: {bed: {added: [{plant: rose}]}}}}
limits: {seconds: 60, memory_mb: 128}
"""

AGENT = """\
import json, os, sqlite3, sys, time, urllib.request
door = os.environ["HARNESS_GATEWAY_URL"]

def ask(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(door + path, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return answer.read()

ask("/turn")
for number in range(int(sys.argv[1])):
    ask("/tools/look", {"bed": number})
    time.sleep(0.03)
ask("/tools/plant", {"plant": "rose"})
with sqlite3.connect("garden.db") as garden:
    garden.execute("insert into bed values ('rose')")
ask("/reply", {"message": "planted"})
"""

TOOLS = """\
import time

_PLANTED = []


def look(bed: int) -> dict:
    "What grows in a bed."
    time.sleep(0.01)
    return {"bed": bed, "grows": "x" * 2000, "planted": len(_PLANTED)}


def plant(plant: str) -> dict:
    "Plants it."
    _PLANTED.append(plant)
    return {"planted": plant}
"""
CHECKS = """\
import hashlib
import sys
from typing import ClassVar

from harness.values import Frozen


class Counted(Frozen):
    version: ClassVar[str] = "1"

    def verify(self, evidence):
        "Takes as long as a check of some size does, and says so to who watches the process."
        sys.audit("garden.scores")
        text = evidence.trial.model_dump_json(exclude={"duration_s", "trajectory", "exit"}).encode()
        for _ in range(40_000):
            text = hashlib.sha256(text).digest()
        return True, "it was counted", {}
"""

CASES = 3


def write_project(folder: Path) -> None:
    """The project, its tapes not recorded yet."""
    suite, image = folder / "suites" / SUITE_NAME, folder / "images" / "yard"
    (suite / "agent").mkdir(parents=True)
    (suite / "agent" / "main.py").write_text(AGENT, encoding="utf-8")
    (suite / "tools.py").write_text(TOOLS, encoding="utf-8")
    (suite / "checks.py").write_text(CHECKS, encoding="utf-8")
    (suite / "suite.yaml").write_text(SUITE, encoding="utf-8")
    cases = "".join(f"- {{id: bed-{number}, task: plant a rose}}\n" for number in range(CASES))
    (suite / "cases.yaml").write_text(cases, encoding="utf-8")
    (image / "shut" / "work").mkdir(parents=True)
    (image / "environment.yaml").write_text("image: yard\nstates:\n  shut: {files: shut}\n", encoding="utf-8")
    write_dockerfile(folder, "first")
    for number in range(40):
        (image / "shut" / "work" / f"leaf-{number}").write_text("leaf\n" * 50, encoding="utf-8")
    with closing(sqlite3.connect(image / "shut" / "work" / "garden.db")) as garden:
        garden.execute("create table bed (plant text)")
        garden.execute("insert into bed values ('moss')")
        garden.commit()


def write_dockerfile(folder: Path, mark: str) -> None:
    """Another `mark` is another image: it is built anew."""
    text = (
        f"ARG BASE=base\nFROM ${{BASE}}\nLABEL harness.killing={folder}\nRUN echo {mark} > /etc/yard\nRUN sleep 0.3\n"
    )
    (folder / "images" / "yard" / "Dockerfile").write_text(text, encoding="utf-8")
