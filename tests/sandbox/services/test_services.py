"""Services: restored, ready, reachable by the harness alone, and gone."""

import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit
from uuid import uuid4

import pytest

from harness.errors import ServiceError, UsageError
from harness.sandbox.environment import Environment
from harness.sandbox.host_guard import guards_left, interface_of, why_unguarded
from harness.sandbox.images.store import ImageStore
from harness.sandbox.leftovers import reap
from harness.sandbox.service_container import ServiceContainer, ServiceNetwork, open_network
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
            answers.append((read(services["lines"]), read(services["lines"] + "/add/plum")))

    assert [("apple\npear\n", "apple\npear\nplum\n")] * 2 == answers
    assert [] == left_of(images, run)


@pytest.mark.slow
def test_what_a_service_prints_can_be_read_and_is_enough_to_wait_for(shop: Shop, images: ImageStore, run: str) -> None:
    environment, snapshots = shop(wait={"log": "lines are s.rved"})
    with start_services(environment, snapshots.build("shop", "closed"), images=images, run=run) as services:
        assert {"lines": "lines are served"} == services.tails()


TRIES = """
import socket, sys
for place in sys.argv[1:]:
    host, _, port = place.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=1).close()
        print(place, "reached")
    except OSError as error:
        print(place, "not reached")
"""


@pytest.mark.slow
def test_services_reach_each_other_by_name_and_nothing_outside(shop: Shop, images: ImageStore, run: str) -> None:
    environment, snapshots = shop()
    lines = environment.services["lines"]
    second = lines.model_copy(update={"needs": ("lines",)})
    both = environment.model_copy(update={"services": {"second": second, "lines": lines}})
    with start_services(both, snapshots.build("shop", "closed"), images=images, run=run) as services:
        addresses = [urlsplit(services[name]).netloc for name in ("lines", "second")]
        places = ["lines:8000", "second:8000", "1.1.1.1:443", "169.254.169.254:80", "example.com:80"]
        tried = services.output_of("second", ["python3", "-c", TRIES, *places], 60).decode().splitlines()
        containers = [images.client.api.inspect_container(one) for one in left_of(images, run)]
        (network,) = images.client.api.networks(filters={"label": f"harness.run={run}"})

    assert ["lines:8000 reached", "second:8000 reached", *(f"{place} not reached" for place in places[2:])] == tried
    assert 2 == len(set(addresses))
    assert network["Internal"] is True
    for container in containers:
        assert {} == container["NetworkSettings"]["Ports"]
        assert ["ALL"] == container["HostConfig"]["CapDrop"]
        assert (512 * 2**20, 256) == (container["HostConfig"]["Memory"], container["HostConfig"]["PidsLimit"])
    assert [] == images.client.api.networks(filters={"label": f"harness.run={run}"})


@contextmanager
def alone(
    shop: Shop, images: ImageStore, run: str, **options: bool
) -> Iterator[tuple[ServiceContainer, ServiceNetwork]]:
    """The service in a network with these options."""
    network = open_network(images.client, run, **options)
    service = ServiceContainer("lines", shop()[0].services["lines"], images.tag("base"), None)
    try:
        service.start(run, network)
        service.wait()
        assert "" == read(service.url)
        yield service, network
    finally:
        service.stop()
        network.remove()


@pytest.mark.slow
@pytest.mark.parametrize("guarded", [True, False], ids=["guarded", "not guarded"])
def test_services_do_not_reach_what_the_machine_serves(shop: Shop, images: ImageStore, run: str, guarded: bool) -> None:
    """Where the rule can be set, which takes root; without it they do."""
    with alone(shop, images, run, guarded=guarded) as (service, network):
        (pool,) = images.client.api.inspect_network(network.id)["IPAM"]["Config"]
        with socket.create_server(("0.0.0.0", 0)) as listening:
            place = f"{pool['Gateway']}:{listening.getsockname()[1]}"
            tried = service.output_of(["python3", "-c", TRIES, place], 30, "a try").decode().strip()

    assert network.guarded is (guarded and why_unguarded() is None)
    assert f"{place} {'not reached' if network.guarded else 'reached'}" == tried
    assert interface_of(network.id) not in guards_left(), "other networks may be removed at this moment"


@pytest.mark.slow
def test_where_containers_have_no_address_of_their_own_a_loopback_port_is_published(
    shop: Shop, images: ImageStore, run: str
) -> None:
    with alone(shop, images, run, published=True) as (service, _):
        container = images.client.api.inspect_container(service.id)
        port = service.url.rpartition(":")[2]
        assert {"8000/tcp": [{"HostIp": "127.0.0.1", "HostPort": port}]} == container["NetworkSettings"]["Ports"]
    assert [] == left_of(images, run)


@pytest.mark.slow
def test_a_service_that_dies_later_is_told_with_the_end_of_its_log(shop: Shop, images: ImageStore, run: str) -> None:
    environment, snapshots = shop()
    with start_services(environment, snapshots.build("shop", "closed"), images=images, run=run) as services:
        services.check()
        services.output_of("lines", ["sh", "-c", "kill -TERM 1; sleep 1; echo sent"], 60)
        images.client.api.kill(left_of(images, run)[0])
        with pytest.raises(ServiceError, match=r"'lines'.*exit status 137") as told:
            services.check()

    assert {"lines": "lines are served"} == told.value.logs


KILLED = """
import sys, time
from pathlib import Path
from harness.sandbox.environment import load_environment
from harness.sandbox.images.store import ImageStore
from harness.sandbox.services import start_services
from harness.sandbox.snapshot import Snapshot
project, run = Path(sys.argv[1]), sys.argv[2]
start_services(load_environment(project, "shop"), Snapshot(name="empty", environment="shop"),
               images=ImageStore(project), run=run)
print("ready", flush=True)
time.sleep(600)
"""


@pytest.mark.slow
def test_what_a_killed_harness_leaves_is_removed_by_the_next(shop: Shop, images: ImageStore, run: str) -> None:
    environment, _ = shop()
    project = environment.folder.parent.parent
    with subprocess.Popen([sys.executable, "-c", KILLED, project, run], stdout=subprocess.PIPE, text=True) as harness:
        assert harness.stdout is not None
        assert "ready\n" == harness.stdout.readline()
        harness.kill()
    left = len(left_of(images, run)), len(images.client.api.networks(filters={"label": f"harness.run={run}"}))
    reap(images.client)

    assert (1, 1) == left
    assert [] == left_of(images, run)
    assert [] == images.client.api.networks(filters={"label": f"harness.run={run}"})


@pytest.mark.slow
def test_a_service_that_never_becomes_ready_is_an_error_with_its_log_and_leaves_nothing(
    shop: Shop, images: ImageStore, run: str
) -> None:
    environment, snapshots = shop(
        command=["python3", "-u", "-c", "print('waiting for a database'); import time; time.sleep(60)"], timeout_s=1
    )
    snapshot = snapshots.build("shop", "closed")

    with pytest.raises(ServiceError, match=r"within 1 s(.|\n)*waiting for a database"):
        start_services(environment, snapshot, images=images, run=run)

    assert [] == left_of(images, run)


@pytest.mark.slow
@pytest.mark.parametrize("wait", [{"http": "/"}, {"log": "lines are served"}])
def test_a_service_that_dies_is_noticed_long_before_the_time_limit(
    shop: Shop, images: ImageStore, run: str, wait: dict[str, str]
) -> None:
    environment, snapshots = shop(
        command=["python3", "-c", "raise SystemExit('no such table')"], wait=wait, timeout_s=120
    )
    started = time.monotonic()

    with pytest.raises(ServiceError, match="no such table"):
        start_services(environment, snapshots.build("shop", "closed"), images=images, run=run)

    assert time.monotonic() - started < 60
    assert [] == left_of(images, run)


@pytest.mark.slow
def test_a_command_of_a_package_is_told_to_be_a_module(shop: Shop, images: ImageStore, run: str) -> None:
    environment, snapshots = shop(command=["sh", "-c", "exec ledger"])

    with pytest.raises(ServiceError, match="ledger: not found") as failed:
        start_services(environment, snapshots.build("shop", "closed"), images=images, run=run)

    assert "python3 -m" in str(failed.value.remedy)


@pytest.mark.slow
def test_one_service_that_fails_takes_the_others_with_it(shop: Shop, images: ImageStore, run: str) -> None:
    environment, snapshots = shop()
    bad = environment.services["lines"].model_copy(update={"command": ("false",)})
    both = environment.model_copy(update={"services": {**environment.services, "bad": bad}})

    with pytest.raises(ServiceError, match="'bad'"):
        start_services(both, snapshots.build("shop", "closed"), images=images, run=run)

    assert [] == left_of(images, run)


@pytest.mark.slow
def test_threads_get_services_of_their_own(shop: Shop, images: ImageStore, run: str) -> None:
    environment, snapshots = shop()
    snapshot = snapshots.build("shop", "open")
    seen: dict[int, str] = {}

    def trial(number: int) -> None:
        with start_services(environment, snapshot, images=images, run=run) as services:
            seen[number] = read(f"{services['lines']}/add/{number}")

    threads = [threading.Thread(target=trial, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert {number: f"apple\npear\n{number}\n" for number in range(4)} == seen
    assert [] == left_of(images, run)


@pytest.mark.slow
def test_only_the_named_services_are_started(shop: Shop, images: ImageStore, run: str) -> None:
    environment, snapshots = shop()
    snapshot = snapshots.build("shop", "closed")

    with start_services(environment, snapshot, images=images, run=run, names=[]) as services:
        assert ((), []) == (tuple(services), left_of(images, run))
    with pytest.raises(UsageError, match=r"'till'.*\n.*lines"):
        start_services(environment, snapshot, images=images, run=run, names=["till"])


@pytest.mark.slow
def test_stopping_twice_and_after_somebody_else_removed_it_is_quiet(shop: Shop, images: ImageStore, run: str) -> None:
    environment, snapshots = shop()
    services = start_services(environment, snapshots.build("shop", "closed"), images=images, run=run)
    images.client.api.remove_container(left_of(images, run)[0], force=True)
    services.stop()
    services.stop()

    assert [] == left_of(images, run)
    assert [] == images.client.api.networks(filters={"label": f"harness.run={run}"})
