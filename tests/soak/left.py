"""What is on the machine that a run could leave behind: taken before and after, the difference is the leftovers."""

import os
import tempfile
from pathlib import Path

from harness.sandbox.engine import connect


def standing(temporary: Path | None = None) -> frozenset[str]:
    """Every container, network, volume, mount, folder for sockets and temporary file of a harness, by name.

    `temporary` is the TMPDIR of the commands that are tried (by default, this process's). Whatever else uses the engine
    at the same time is seen too: compare on a machine that does nothing else, or count by a label.
    """
    client = connect()
    try:
        engine = {f"container {one.id}" for one in client.containers.list(all=True, ignore_removed=True)}
        engine |= {f"network {one.name}" for one in client.networks.list()}
        engine |= {f"volume {one.name}" for one in client.volumes.list()}
    finally:
        client.close()
    folder = temporary or Path(tempfile.gettempdir())
    files = {f"file {path}" for path in folder.glob("harness-*") if path.name != f"harness-{os.getuid()}"}
    files |= {f"folder {path}" for path in folder.glob(f"harness-{os.getuid()}/*")}
    mounts = {f"mount {line.split()[1]}" for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines()}
    return frozenset(engine | files | mounts)
