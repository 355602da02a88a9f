"""The state of a service as part of a snapshot."""

from collections.abc import Callable

import pytest

from harness.errors import ServiceError, SnapshotError
from harness.sandbox.environment import Environment
from harness.sandbox.images.store import ImageStore
from harness.sandbox.snapshots import SnapshotStore

pytestmark = pytest.mark.docker

Shop = Callable[..., tuple[Environment, SnapshotStore]]


def containers(images: ImageStore) -> list[str]:
    found = images.client.api.containers(all=True, filters={"label": "harness.run=seal-shop"})
    return [container["Id"] for container in found]


@pytest.mark.slow
def test_sealing_a_service_twice_gives_one_digest_and_the_canonical_state(shop: Shop, images: ImageStore) -> None:
    _, snapshots = shop()
    digests = [snapshots.build("shop", "open").digest for _ in range(2)]
    loaded = snapshots.load("shop", "open")

    assert [loaded.digest] * 2 == digests
    assert loaded.folder is not None
    assert "apple\npear\n" == (loaded.folder / "dumps" / "lines.txt").read_text()
    assert images.tag("base") == loaded.image
    assert [] == containers(images)


@pytest.mark.slow
def test_a_changed_dump_is_refused_by_name(shop: Shop) -> None:
    _, snapshots = shop()
    folder = snapshots.build("shop", "open").folder
    assert folder is not None
    (folder / "dumps" / "lines.txt").write_text("apple\nplum\n")

    with pytest.raises(SnapshotError, match=r"dumps/lines\.txt"):
        snapshots.load("shop", "open")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (["date", "+%N"], "'lines'.*dump"),
        (["sh", "-c", "echo no disk >&2; exit 3"], r"exit status 3 and 0 bytes\nno disk"),
        (["true"], "exit status 0 and 0 bytes"),
        (["/no/such/program"], "exit status 12"),
    ],
)
def test_a_dump_that_cannot_be_sealed_is_refused_and_leaves_nothing(
    shop: Shop, images: ImageStore, command: list[str], problem: str
) -> None:
    _, snapshots = shop(dump={"command": command})

    with pytest.raises(ServiceError, match=problem):
        snapshots.build("shop", "open")

    assert () == snapshots.list()
    assert [] == containers(images)


@pytest.mark.slow
def test_a_dump_that_never_ends_is_given_up(shop: Shop, images: ImageStore) -> None:
    _, snapshots = shop(dump={"command": ["sleep", "60"], "timeout_s": 1})

    with pytest.raises(ServiceError, match="within 1 s"):
        snapshots.build("shop", "open")

    assert [] == containers(images)
