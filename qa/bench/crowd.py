"""The agents' processes of a sweep without a harness: all in one container of the same image (`clients/crowd`)."""

from pathlib import Path

import docker

from harness.sandbox.containers.configuration import AGENT_UID
from harness.sandbox.ownership import owner_labels
from qa.bench.overhead import AGENT

CROWD = Path(__file__).parent / "clients"


def bare_s(client: docker.DockerClient, image: str, program: str, sessions: int, jobs: int) -> float:
    """Seconds of so many processes, without the start of their container."""
    container = client.containers.create(
        image,
        ["python3", "/crowd/crowd.py", str(sessions), str(jobs), f"/agent/{program}"],
        network_mode="none",
        user=f"{AGENT_UID}:{AGENT_UID}",
        environment={"PYTHONHASHSEED": "0"},
        volumes={
            str(AGENT): {"bind": "/agent", "mode": "ro"},
            str(CROWD): {"bind": "/crowd", "mode": "ro"},
        },
        labels=owner_labels("bench"),
    )
    try:
        container.start()
        status = container.wait(timeout=3600)["StatusCode"]
        said = container.logs().decode()
    finally:
        container.remove(force=True)
    assert status == 0, said
    return float(said)
