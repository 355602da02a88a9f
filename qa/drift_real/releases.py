"""Released servers from their package index, each in an environment of its own, with every part pinned by its hash."""

import json
import os
import socket
import sqlite3
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.error import URLError

REQUIREMENTS = Path(__file__).parent / "requirements"
_DEADLINE_S = 120


def installed(release: str, environments: Path) -> Path:
    """The folder of programs of one release, e.g. `datasette-0.64.8`; installed where it is not there yet."""
    folder = environments / release
    done = folder / "installed"
    if not done.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        listed = REQUIREMENTS / f"{release}.txt"
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, "--require-hashes", "--no-deps", "--only-binary", ":all:", "-r", str(listed)], check=True)
        done.touch()
    return folder / "bin"


def shop_database(folder: Path) -> Path:
    """A small database for datasette."""
    path = folder / "shop.db"
    rows = [(1, "Biscuit", 2.5, "warm"), (2, "Donut", 1.75, None), (3, "Bagel", 3.0, "salt")]
    with sqlite3.connect(path) as database:
        database.execute("create table items (id integer primary key, name text, price real, note text)")
        database.executemany("insert into items values (?, ?, ?, ?)", rows)
    database.close()
    return path


@contextmanager
def served_datasette(programs: Path, database: Path) -> Iterator[str]:
    """Its address while it runs."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    metadata = database.with_name("metadata.json")
    metadata.write_text(json.dumps({"title": "Shop"}))
    log = database.with_name(f"datasette-{port}.log")
    command = [str(programs / "datasette"), str(database), "--port", str(port), "--metadata", str(metadata)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("DATASETTE")}
    with log.open("wb") as said, subprocess.Popen(command, stdout=said, stderr=said, env=environment) as server:
        try:
            _wait(f"http://127.0.0.1:{port}", server, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            server.terminate()
            server.wait(_DEADLINE_S)


def _wait(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _DEADLINE_S
    while True:
        try:
            with urllib.request.urlopen(f"{url}/-/versions.json", timeout=_DEADLINE_S):
                return
        except URLError as error:
            if server.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"datasette does not serve: {log.read_text(errors='replace')}") from error
        time.sleep(0.2)
