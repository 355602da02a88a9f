"""The SQLite database of a service asked for its rows."""

from collections.abc import Callable
from uuid import uuid4

import pytest

from harness.errors import UsageError
from harness.sandbox.environment import Environment
from harness.sandbox.images.store import ImageStore
from harness.sandbox.services import start_services
from harness.sandbox.snapshot import Snapshot
from harness.sandbox.tables import QueryFailed, Unmeasurable
from tests.sandbox.databases.test_tables import SCHEMA

Shop = Callable[..., tuple[Environment, object]]

SERVICE = f"""
import sqlite3, time
connection = sqlite3.connect("/tmp/shop.sqlite")
connection.executescript({SCHEMA!r})
endless = "with recursive n(x) as (select 1 union all select x + 1 from n) select x from n"
connection.execute("create view endless as " + endless)
connection.close()
import os
os.mkfifo("/tmp/fifo.sqlite")
os.symlink("/etc/hostname", "/tmp/link.sqlite")
os.truncate(os.open("/tmp/sparse.sqlite", os.O_CREAT | os.O_WRONLY), 1 << 40)
print("ready", flush=True)
time.sleep(600)
"""


@pytest.mark.slow
@pytest.mark.docker
def test_the_database_of_a_service_is_asked(shop: Shop, images: ImageStore) -> None:
    environment, _ = shop(
        command=["python3", "-c", SERVICE],
        wait={"log": "ready"},
        database="sqlite:///tmp/shop.sqlite",
    )
    nothing = Snapshot(name="empty", environment="shop")
    with start_services(environment, nothing, images=images, run=f"test-{uuid4().hex}") as services:
        assert [{"n": 2}] == services.rows("lines", "select count(*) as n from loan", 30)
        assert ["tag"] == list(services.tables("lines", ["tag", "nothing"], 30))
        with pytest.raises(QueryFailed, match="no such table: nowhere"):
            services.rows("lines", "select * from nowhere", 30)
        with pytest.raises(Unmeasurable, match="processor time"):
            services.rows("lines", "select count(*) from endless", 1)


@pytest.mark.slow
@pytest.mark.docker
@pytest.mark.parametrize(
    ("file", "why"), [("fifo", "not a regular file"), ("link", "not a regular file"), ("sparse", "larger")]
)
def test_what_is_no_database_of_a_service_is_not_read(shop: Shop, images: ImageStore, file: str, why: str) -> None:
    environment, _ = shop(
        command=["python3", "-c", SERVICE],
        wait={"log": "ready"},
        database=f"sqlite:///tmp/{file}.sqlite",
    )
    nothing = Snapshot(name="empty", environment="shop")
    with (
        start_services(environment, nothing, images=images, run=f"test-{uuid4().hex}") as services,
        pytest.raises(Unmeasurable, match=why),
    ):
        services.rows("lines", "select 1", 30)


@pytest.mark.docker
@pytest.mark.slow
def test_a_service_without_a_database_cannot_be_asked(shop: Shop, images: ImageStore) -> None:
    environment, _ = shop()
    nothing = Snapshot(name="empty", environment="shop")
    with (
        start_services(environment, nothing, images=images, run=f"test-{uuid4().hex}") as services,
        pytest.raises(UsageError, match=r"'lines'(.|\n)*`database: "),
    ):
        services.rows("lines", "select 1", 30)
