"""What others take for a program that does nothing, where they are installed; how to ask the others.

`compose` is timed by itself: up and down of one service that runs `true` without a network, beside the same program by
the Docker API. The rest download tasks of their own; their published command lines are printed.
"""

import argparse
import shutil
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from harness.sandbox.engine import connect
from harness.sandbox.images.store import ImageStore
from qa.bench.figures import show
from qa.bench.overhead import cycle

LINES = {
    "inspect": 'inspect eval TASK.py --model mockllm/model   (sandbox="docker" in the task)',
    "harbor": "harbor run -p FOLDER_OF_TASKS -a nop -n 1",
    "tb": "tb run --dataset-path FOLDER_OF_TASKS --agent nop --n-concurrent 1",
    "docker-compose": "docker-compose up -d && docker-compose down   (or `docker compose`)",
}
SERVICE = """\
version: "3"
services:
  nothing:
    image: {image}
    command: ["true"]
    network_mode: none
"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=5)
    rounds = options.parse_args().rounds
    for name, line in LINES.items():
        print(f"  {name:16} {'installed' if shutil.which(name) else 'not installed':14} {line}")
    compose = compose_command()
    if compose is not None:
        show(timed(compose, rounds), [])


def compose_command() -> list[str] | None:
    """None: it is not installed."""
    if shutil.which("docker-compose"):
        return ["docker-compose"]
    plugin = subprocess.run(["docker", "compose", "version"], capture_output=True) if shutil.which("docker") else None
    return ["docker", "compose"] if plugin is not None and plugin.returncode == 0 else None


def timed(compose: list[str], rounds: int) -> dict[str, float]:
    """Medians, in turn with the plain cycle."""
    client = connect()
    seconds: dict[str, list[float]] = {"compose up and down, s": [], "plain cycle of `true`, s": []}
    with tempfile.TemporaryDirectory(prefix="harness-bench-") as temporary:
        image = ImageStore(Path(temporary), client).build("base", print).tag
        bare = {"image": image, "command": ["true"], "host_config": client.api.create_host_config(network_mode="none")}
        (Path(temporary) / "docker-compose.yml").write_text(SERVICE.format(image=image), encoding="utf-8")
        for _ in range(rounds):
            began = time.perf_counter()
            for verb in (["up", "-d"], ["down"]):
                subprocess.run([*compose, *verb], cwd=temporary, check=True, capture_output=True)
            middle = time.perf_counter()
            cycle(client, bare)
            seconds["compose up and down, s"].append(middle - began)
            seconds["plain cycle of `true`, s"].append(time.perf_counter() - middle)
    client.close()
    medians = {name: statistics.median(found) for name, found in seconds.items()}
    first, second = medians.values()
    return {**medians, "compose / plain cycle": first / second}


if __name__ == "__main__":
    main()
