"""What the harness concludes from the answers of an engine to `version` and `info`."""

from typing import Any

import pytest

from harness.sandbox.engine import facts_of

PODMAN: dict[str, Any] = {"Version": "4.3.1", "Arch": "amd64", "Components": [{"Name": "Podman Engine"}]}
DOCKER: dict[str, Any] = {"Version": "26.1.5", "Arch": "arm64", "Components": [{"Name": "Engine"}]}


@pytest.mark.parametrize(
    ("version", "info", "lacks"),
    [
        (DOCKER, {"CgroupVersion": "2"}, []),
        (DOCKER, {"CgroupVersion": "1", "PidsLimit": False}, ["processes"]),
        (PODMAN, {"CgroupVersion": "1"}, ["number of files"]),
        (PODMAN, {"CgroupVersion": "2", "Rootless": True}, ["number of files"]),
        (
            PODMAN,
            {"CgroupVersion": "1", "Rootless": True, "MemoryLimit": True, "PidsLimit": True},
            ["number of files", "memory", "processes", "processors"],
        ),
        (
            DOCKER,
            {"CgroupVersion": "1", "SecurityOptions": ["name=rootless"]},
            ["memory", "processes", "processors"],
        ),
    ],
)
def test_what_an_engine_lacks_is_known_from_its_answers(
    version: dict[str, Any], info: dict[str, Any], lacks: list[str]
) -> None:
    found = facts_of(version, info).lacks
    assert len(lacks) == len(found)
    assert all(
        f"no limit on {what}" in said or f"no limit on the {what}" in said
        for what, said in zip(lacks, found, strict=True)
    )


def test_the_machine_is_named_as_wheels_name_it() -> None:
    assert ("aarch64", "x86_64") == (facts_of(DOCKER, {}).machine, facts_of(PODMAN, {}).machine)


@pytest.mark.parametrize(
    ("info", "mounts"),
    [({"OperatingSystem": "Debian GNU/Linux 12"}, True), ({"OperatingSystem": "Docker Desktop"}, False)],
)
def test_an_engine_in_a_virtual_machine_mounts_no_sockets(info: dict[str, Any], mounts: bool) -> None:
    found = facts_of(DOCKER, info)
    assert (mounts, mounts) == (found.mounts_sockets, not any("relay" in lack for lack in found.lacks))
