import os
import subprocess
import sys
import uuid

import pytest

from harness.sandbox.engine import connect
from harness.sandbox.leftovers import reap
from harness.sandbox.ownership import owner_labels

_ASKS_FOR_AN_ENGINE = """
from harness.errors import EngineUnavailable
from harness.sandbox.engine import connect
try:
    connect()
except EngineUnavailable as error:
    print(error)
"""
_DEAD_RUN = """
import sys
from harness.sandbox.engine import connect
from harness.sandbox.ownership import owner_labels
client, name, image = connect(), sys.argv[1], sys.argv[2]
labels = owner_labels("dead")
client.api.create_container(image, ["true"], name=name, labels=labels)
client.api.create_network(name, labels=labels)
client.api.create_volume(name, labels=labels)
client.close()
"""


def test_missing_engine_is_told_with_what_to_do() -> None:
    """In a process of its own: the Docker SDK leaks the socket that it could not connect."""
    environment = {**os.environ, "DOCKER_HOST": "unix:///no/such/engine.sock"}
    told = subprocess.run(
        [sys.executable, "-c", _ASKS_FOR_AN_ENGINE], check=True, capture_output=True, text=True, env=environment
    ).stdout
    assert told.startswith("no container engine answers")
    assert "--sandbox local" in told


@pytest.mark.docker
def test_what_a_dead_run_left_is_removed_and_a_living_one_keeps_its_own(base_image: str) -> None:
    client = connect()
    left, kept = (f"harness-test-{uuid.uuid4().hex[:8]}" for _ in range(2))
    try:
        subprocess.run([sys.executable, "-c", _DEAD_RUN, left, base_image], check=True)
        client.api.create_volume(kept, labels=owner_labels("living"))
        removed = reap(client)
        assert {f"network {left}", f"volume {left}"} <= set(removed)
        assert sum(line.startswith("container") for line in removed) >= 1
        assert client.api.containers(all=True, filters={"name": left}) == []
        assert [v["Name"] for v in client.api.volumes()["Volumes"] if v["Name"] in (left, kept)] == [kept]
        assert not any(left in line for line in reap(client))
    finally:
        client.api.remove_volume(kept)
        client.close()
