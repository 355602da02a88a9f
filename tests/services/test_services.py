"""Services: restored, ready, reachable by the harness alone, and gone."""

import socket
import threading
import time
import urllib.request
from collections.abc import Callable
from uuid import uuid4

import pytest

from harness.errors import ServiceError, UsageError
from harness.sandbox.environment import Environment
from harness.sandbox.images import ImageStore
from harness.sandbox.services import start_services
from harness.sandbox.snapshots import SnapshotStore

pytestmark = pytest.mark.docker

Shop = Callable[..., tuple[Environment, SnapshotStore]]


def left_of(images: ImageStore, run: str) -> list[str]:
    found = images.client.api.containers(all=True, filters={"label": f"harness.run={run}"})
    return [container["Id"] for container in found]


def read(url: str) -> str:
    with urllib.request.urlopen(url, timeout=5) as answer:
        return str(answer.read().decode())


@pytest.fixture
def run() -> str:
    return f"test-{uuid4().hex}"


def test_a_service_comes_back_from_the_sealed_dump_each_time(shop: Shop, images: ImageStore, run: str) -> None:
    environment, snapshots = shop()
    snapshot = snapshots.build("shop", "open")

    answers = []
    for _ in range(2):
        with start_services(environment, snapshot, images=images, run=run) as services:
            answers.append((read(services.url("lines")), read(services.url("lines") + "/add/plum")))

    assert [("apple\npear\n", "apple\npear\nplum\n")] * 2 == answers
    assert [] == left_of(images, run)


def test_what_a_service_prints_can_be_read_and_is_enough_to_wait_for(shop: Shop, images: ImageStore, run: str) -> None:
    environment, snapshots = shop(wait={"log": "lines are s.rved"})
    with start_services(environment, snapshots.build("shop", "closed"), images=images, run=run) as services:
        assert "lines are served\n" == services.logs("lines")


def test_a_service_is_published_on_the_loopback_address_alone(shop: Shop, images: ImageStore, run: str) -> None:
    environment, snapshots = shop()
    with start_services(environment, snapshots.build("shop", "closed"), images=images, run=run) as services:
        container = images.client.api.inspect_container(left_of(images, run)[0])
        port = services.url("lines").rpartition(":")[2]

        assert {"8000/tcp": [{"HostIp": "127.0.0.1", "HostPort": port}]} == container["NetworkSettings"]["Ports"]
        assert ["ALL"] == container["HostConfig"]["CapDrop"]
        assert (512 * 2**20, 256) == (container["HostConfig"]["Memory"], container["HostConfig"]["PidsLimit"])


def test_a_service_that_never_becomes_ready_is_an_error_with_its_log_and_leaves_nothing(
    shop: Shop, images: ImageStore, run: str
) -> None:
    environment, snapshots = shop(
        command=["python3", "-u", "-c", "print('waiting for a database'); import time; time.sleep(60)"], timeout_s=1
    )
    snapshot = snapshots.build("shop", "closed")

    with pytest.raises(ServiceError, match=r"not ready within 1 s(.|\n)*waiting for a database"):
        start_services(environment, snapshot, images=images, run=run)

    assert [] == left_of(images, run)


@pytest.mark.parametrize("wait", [{"http": "/"}, {"log": "lines are served"}])
def test_a_service_that_dies_is_noticed_long_before_the_time_limit(
    shop: Shop, images: ImageStore, run: str, wait: dict[str, str]
) -> None:
    environment, snapshots = shop(
        command=["python3", "-c", "raise SystemExit('no such table')"], wait=wait, timeout_s=120
    )
    started = time.monotonic()

    with pytest.raises(ServiceError, match=r"ended by itself(.|\n)*no such table"):
        start_services(environment, snapshots.build("shop", "closed"), images=images, run=run)

    assert time.monotonic() - started < 20
    assert [] == left_of(images, run)


def test_a_command_that_does_not_exist_is_an_error_and_leaves_nothing(shop: Shop, images: ImageStore, run: str) -> None:
    environment, snapshots = shop(command=["/no/such/program"])

    with pytest.raises(ServiceError, match=r"engine failed for service 'lines'.*no/such/program"):
        start_services(environment, snapshots.build("shop", "closed"), images=images, run=run)

    assert [] == left_of(images, run)


def test_one_service_that_fails_takes_the_others_with_it(shop: Shop, images: ImageStore, run: str) -> None:
    environment, snapshots = shop()
    bad = environment.services["lines"].model_copy(update={"command": ("false",)})
    both = environment.model_copy(update={"services": {**environment.services, "bad": bad}})

    with pytest.raises(ServiceError, match="'bad'"):
        start_services(both, snapshots.build("shop", "closed"), images=images, run=run)

    assert [] == left_of(images, run)


def test_threads_get_services_of_their_own(shop: Shop, images: ImageStore, run: str) -> None:
    environment, snapshots = shop()
    snapshot = snapshots.build("shop", "open")
    seen: dict[int, str] = {}

    def trial(number: int) -> None:
        with start_services(environment, snapshot, images=images, run=run) as services:
            seen[number] = read(f"{services.url('lines')}/add/{number}")

    threads = [threading.Thread(target=trial, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert {number: f"apple\npear\n{number}\n" for number in range(4)} == seen
    assert [] == left_of(images, run)


def test_only_the_named_services_are_started(shop: Shop, images: ImageStore, run: str) -> None:
    environment, snapshots = shop()
    snapshot = snapshots.build("shop", "closed")

    with start_services(environment, snapshot, images=images, run=run, names=[]) as services:
        assert ((), []) == (services.names, left_of(images, run))
    with pytest.raises(UsageError, match=r"has no service 'till'.*\n.*lines"):
        start_services(environment, snapshot, images=images, run=run, names=["till"])


def test_stopping_twice_and_after_somebody_else_removed_it_is_quiet(shop: Shop, images: ImageStore, run: str) -> None:
    environment, snapshots = shop()
    services = start_services(environment, snapshots.build("shop", "closed"), images=images, run=run)
    port = int(services.url("lines").rpartition(":")[2])
    images.client.api.remove_container(left_of(images, run)[0], force=True)
    services.stop()
    services.stop()

    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=2)
