"""The relay beside a trial leads to that trial's gateway and to nothing else, and an agent cannot end or exhaust it."""

import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from harness.sandbox.conformance.provider_fixture import ProviderFixture, answer_of, python
from harness.sandbox.containers.docker import DockerSandboxProvider
from harness.sandbox.engine import connect
from harness.sandbox.provider import Sandbox
from harness.suite.cases import Limits
from harness.traces.trial import ProgramExit

pytestmark = [pytest.mark.docker, pytest.mark.slow, pytest.mark.timeout(240)]

_LIMITS = Limits(memory_mb=768, processes=64)
_TRIES = """
import json, os, socket, struct
found = {}
for folder in ("/run/harness/control", "/run/harness/gateway"):
    found[folder] = sorted(os.listdir(folder))
    try:
        os.close(os.open(folder + "/mine", os.O_CREAT | os.O_WRONLY))
        found["written"] = folder
    except OSError:
        pass
def reached(family, kind, address, said=b"x"):
    try:
        with socket.socket(family, kind) as link:
            link.settimeout(2)
            link.connect(address)
            link.sendall(said)
            return bool(link.recv(100))
    except OSError:
        return False
question = struct.pack(">6H", 7, 0x100, 1, 0, 0, 0) + b"\\7gateway\\6docker\\8internal\\0" + struct.pack(">2H", 1, 1)
addresses = ["172.17.0.1", "172.18.0.1", "10.88.0.1", "192.168.65.1", "127.0.0.11", "169.254.169.254", *%r]
servers = [line.split()[1] for line in open("/etc/resolv.conf") if line.startswith("nameserver")]
found["reached"] = [
    at for at in addresses if any(reached(socket.AF_INET, socket.SOCK_STREAM, (at, port)) for port in (22, 80, 2375))
] + [
    at for at in {*addresses, *servers} if reached(socket.AF_INET, socket.SOCK_DGRAM, (at, 53), question)
]
try:
    found["resolved"] = socket.gethostbyname("host.docker.internal")
except OSError:
    found["resolved"] = None
found["interfaces"] = [name for _, name in socket.if_nameindex()]
others = [pid for pid in os.listdir("/proc") if pid.isdigit() and pid != str(os.getpid())]
found["processes"] = sum(b"relay" in open(f"/proc/{pid}/cmdline", "rb").read() for pid in others)
print(json.dumps(found))
"""
_FLOOD = """
import json, os, socket, sys, time
path, links, sent = sys.argv[1], [], 0
end = time.monotonic() + 20
for _ in range(4000):
    link = socket.socket(socket.AF_UNIX)
    link.settimeout(0.5)
    try:
        link.connect(path)
        link.setblocking(False)
        sent += link.send(b"POST /x HTTP/1.1\\r\\ncontent-length: 9000000\\r\\n\\r\\n" + b"y" * 100_000)
    except OSError:
        if time.monotonic() > end:
            break
    links.append(link)
open("/work/flooded", "w").write(str(sent))
time.sleep(3)
print(json.dumps(len(links)))
"""
_ANSWERED = """
import http.client, json, os, urllib.parse
where = urllib.parse.urlsplit(os.environ["HARNESS_GATEWAY_URL"])
read = http.client.HTTPConnection(where.hostname, where.port, timeout=20)
read.request("GET", "/out?bytes=3000")
print(json.dumps(len(read.getresponse().read())))
"""


@pytest.fixture(scope="module")
def relayed() -> Iterator[DockerSandboxProvider]:
    provider = DockerSandboxProvider(run="escape-relay", relayed=True)
    yield provider
    provider.close()


@pytest.fixture
def two(relayed: DockerSandboxProvider, base_image: str, tmp_path: Path) -> Iterator[tuple[Sandbox, Sandbox]]:
    """Two trials at the same time, each with a gateway."""
    with ExitStack() as stack:
        sandboxes = []
        for name in ("one", "other"):
            (tmp_path / name).mkdir()
            stand = stack.enter_context(ProviderFixture(relayed, base_image, tmp_path / name))
            sandboxes.append(stand.start(limits=_LIMITS, gateway_socket=stand.gateway().socket))
        yield sandboxes[0], sandboxes[1]


def test_a_relay_and_its_trial_are_in_no_network(two: tuple[Sandbox, Sandbox]) -> None:
    with closing(connect()) as client:
        found = client.api.containers(filters={"label": "harness.run=escape-relay"})
        described = [client.api.inspect_container(one["Id"]) for one in found]
    assert 4 == len(described)
    assert {"none"} == {one["HostConfig"]["NetworkMode"] for one in described}
    assert all(one["HostConfig"]["CapDrop"] == ["ALL"] and one["HostConfig"]["ReadonlyRootfs"] for one in described)
    volumes = [{mount["Name"] for mount in one["Mounts"] if mount["Type"] == "volume"} for one in described]
    assert 6 == len(set().union(*volumes))  # of each pair: its control, its gateway, the trial's terminals


def test_a_trial_finds_its_own_gateway_and_nothing_else(two: tuple[Sandbox, Sandbox]) -> None:
    with closing(connect()) as client:
        networks = [network.attrs["IPAM"]["Config"] or [] for network in client.networks.list()]
    bridges = [one["Gateway"] for config in networks for one in config if "Gateway" in one]
    found = answer_of("what is there", python(two[0], _TRIES % bridges))
    assert isinstance(found, dict)
    assert [] == found.pop("/run/harness/control")
    assert ["gateway.sock"] == [name for name in found.pop("/run/harness/gateway") if name.endswith(".sock")]
    assert {"reached": [], "resolved": None, "interfaces": ["lo"], "processes": 0} == found


def test_a_flood_ends_no_relay_and_delays_no_other_trial(two: tuple[Sandbox, Sandbox]) -> None:
    flooding, other = two
    ended: list[ProgramExit] = []
    thread = threading.Thread(
        target=lambda: ended.append(python(flooding, _FLOOD, str(flooding.places.gateway_socket), timeout_s=60))
    )
    thread.start()
    while thread.is_alive():
        assert 3000 == answer_of("the other trial", python(other, _ANSWERED))
    thread.join()
    assert [0] == [one.code for one in ended], ended
    assert int(flooding.read_file("flooded")) > 0
    assert 3000 == answer_of("the trial itself", python(flooding, _ANSWERED))
