"""What a killed command left, looked for without the harness's own means: engine, folders, programs and mounts."""

import os
from pathlib import Path

import docker

_EXPECTED = {".harness", ".lock", ".figures.json", ".figures.jsonl"}


def remains(client: docker.DockerClient, pids: set[int], temporary: Path, project: Path) -> list[str]:
    """By name; empty: nothing is left of the commands with these process ids."""
    found = [f"file {path}" for path in temporary.rglob("*") if path.name != f"harness-{os.getuid()}"]
    found += [f"file {path}" for path in project.rglob(".*") if path.name not in _EXPECTED]
    found += [f"program {name}" for name in _programs(temporary, project)]
    mounts = Path("/proc/mounts").read_text(encoding="utf-8").splitlines()
    found += [f"mount {line.split()[1]}" for line in mounts if str(temporary) in line]
    return found + [name for name, owner in _owned(client) if _pid(owner) in pids]


def _programs(temporary: Path, project: Path) -> list[str]:
    """Those that work in one of the folders, or were started with it."""
    found = []
    marks = (os.fsencode(temporary), os.fsencode(project))
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_bytes()
            where = os.fsencode((entry / "cwd").readlink())
        except OSError:
            continue  # it has just ended
        if any(mark in words or where.startswith(mark) for mark in marks):
            found.append(f"{entry.name} {words.replace(bytes(1), b' ').decode(errors='replace')[:120]}")
    return found


def _owned(client: docker.DockerClient) -> list[tuple[str, str]]:
    label = {"label": "harness.owner"}
    things = [(f"container {one['Id'][:12]}", one) for one in client.api.containers(all=True, filters=label)]
    things += [(f"network {one['Name']}", one) for one in client.api.networks(filters=label)]
    things += [(f"volume {one['Name']}", one) for one in client.api.volumes(filters=label)["Volumes"] or ()]
    return [(name, one["Labels"]["harness.owner"]) for name, one in things]


def _pid(owner: str) -> int:
    return int(owner.split(".")[3])
