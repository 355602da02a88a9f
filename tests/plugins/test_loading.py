"""Files of a suite that are loaded by several threads at once."""

import sys
from pathlib import Path
from threading import Event, Thread
from types import ModuleType

import pytest

from harness.plugins import find_object

SLOW = """
import loading_gate
loading_gate.begun.set()
loading_gate.go.wait(60)
class Rule: ...
"""


def test_a_thread_never_finds_half_of_a_file_that_another_one_loads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = ModuleType("loading_gate")
    begun, go = Event(), Event()
    vars(gate).update(begun=begun, go=go)
    monkeypatch.setitem(sys.modules, "loading_gate", gate)
    (tmp_path / "slow.py").write_text(SLOW)
    found: list[object] = []
    threads = [Thread(target=lambda: found.append(find_object("rule", "slow.py:Rule", {}, tmp_path))) for _ in "ab"]
    threads[0].start()
    assert begun.wait(60)
    threads[1].start()
    threads[1].join(0.3)  # where it did not wait, it has failed by now
    go.set()
    for one in threads:
        one.join(60)
    first, second = found
    assert first is second
