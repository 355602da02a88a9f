"""Engines are told apart by their answers; the answers are those that real engines gave, shortened."""

from pathlib import Path
from typing import Any

from harness.sandbox.engines.dialect import seccomp_option, tmpfs_options
from harness.sandbox.engines.facts import EngineFacts, facts_of

_DOCKER: dict[str, Any] = {"Components": [{"Name": "Engine"}, {"Name": "containerd"}], "Version": "20.10.24"}
_PODMAN: dict[str, Any] = {
    "Components": [{"Name": "Podman Engine"}, {"Name": "Conmon"}, {"Name": "OCI Runtime (crun)"}],
    "Version": "4.3.1",
    "Arch": "amd64",
}
_PLACE = "rw,exec,nosuid,nodev,size=64m,nr_inodes=16384,mode=0755,uid=10001,gid=10001"


def _facts(version: dict[str, Any], **info: Any) -> EngineFacts:
    return facts_of(version, {"NCPU": 2, "Driver": "overlay", "CgroupVersion": "1", **info})


def test_podman_is_named_by_its_components() -> None:
    assert ("Podman", "4.3.1") == (_facts(_PODMAN).name, _facts(_PODMAN).version)
    assert ("Docker", "20.10.24") == (_facts(_DOCKER).name, _facts(_DOCKER).version)


def test_an_answer_without_components_is_docker() -> None:
    assert _facts({"Version": "19.03"}).name == "Docker"


def test_machines_have_the_names_of_wheels_and_an_unknown_one_its_own() -> None:
    named = [_facts({**_DOCKER, "Arch": arch}).machine for arch in ("amd64", "arm64", "riscv64")]
    assert named == ["x86_64", "aarch64", "riscv64"]


def test_both_ways_of_saying_rootless_are_understood() -> None:
    assert _facts(_PODMAN, Rootless=True).rootless
    assert _facts(_DOCKER, SecurityOptions=["name=seccomp,profile=default", "name=rootless"]).rootless
    assert not _facts(_DOCKER, SecurityOptions=None).rootless


def test_a_limit_that_the_kernel_does_not_apply_is_lacking() -> None:
    assert _facts(_DOCKER, MemoryLimit=True, PidsLimit=True).lacks == ()
    assert [lack.split(":")[0] for lack in _facts(_DOCKER, PidsLimit=False).lacks] == ["no limit on processes"]


def test_podman_gets_no_mount_option_that_it_refuses() -> None:
    assert tmpfs_options(_facts(_DOCKER), {"/work": _PLACE}) == {"/work": _PLACE}
    expected = {"/work": "rw,exec,nosuid,nodev,size=64m,mode=0777,notmpcopyup"}
    assert tmpfs_options(_facts(_PODMAN), {"/work": _PLACE}) == expected


def test_podman_reads_the_system_call_filter_from_a_file() -> None:
    assert seccomp_option(_facts(_DOCKER), "{}") == "seccomp={}"
    assert Path(seccomp_option(_facts(_PODMAN), "{}").removeprefix("seccomp=")).read_text() == "{}"
