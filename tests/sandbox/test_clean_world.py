"""A check's command runs nothing that the agent has left, and does where it is not kept from it."""

from collections.abc import Iterator

import pytest

from harness.sandbox.layout import clean_environment
from harness.sandbox.providers import open_provider
from tests.sandbox.databases.conftest import KINDS
from tests.sandbox.escape.captures import CAPTURES, Left, left_by_an_agent


@pytest.fixture(scope="module", params=KINDS)
def left(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Left]:
    provider = open_provider(request.param, run="clean-world")
    image = request.getfixturevalue("base_image") if provider.isolates else None
    yield left_by_an_agent(provider, image, tmp_path_factory.mktemp("left"))
    provider.close()


@pytest.mark.parametrize("capture", CAPTURES)
def test_what_the_agent_left_does_not_run(left: Left, capture: str) -> None:
    if left.provider.isolates or "PATH" not in capture:  # in `local` the folder has another name each time
        assert left.captured_carelessly(capture)
    ended = left.run(CAPTURES[capture])
    assert "CAPTURED" not in ended.stdout
    assert ended.code == (126 if "by its path" in capture else 0), ended.stderr


def test_the_check_itself_runs_and_reads(left: Left) -> None:
    assert '"checked"\n' == left.run(["python3", "{work}/check.py"]).stdout
    assert "ran\n" == left.run(["{work}/check.sh"]).stdout
    assert 0 == left.run(["test", "-f", "{work}/bin/date"]).code
    listed = left.run(["sh", "-c", 'ls -A . "$HOME"; pwd; echo "$HOME"']).stdout
    assert [".:", ""] == listed.splitlines()[:2]
    assert "json.py" not in listed


@pytest.mark.slow
def test_what_is_declared_is_done(left: Left) -> None:
    assert "check.py" in left.run(["ls"], cwd="/work").stdout
    assert "CAPTURED by the program\n" == left.run(["{work}/bin/date"], inspects=False).stdout
    assert 0 == left.run(["sh", "-c", "echo more >> {work}/json.py"], inspects=False).code


@pytest.mark.docker
def test_what_the_agent_left_cannot_be_changed(left: Left) -> None:
    if not left.provider.isolates:  # there nothing is kept from anybody
        return
    for harm in ("echo x >> {work}/json.py", "rm {work}/json.py", "chmod +x {work}/json.py", "touch {work}/more"):
        assert 0 != left.run(["sh", "-c", harm]).code


@pytest.mark.parametrize("name", ["XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL", "PYTHONUSERBASE", "ZDOTDIR", "PERLLIB"])
def test_variables_of_settings_and_packages_lead_into_no_writable_place(name: str) -> None:
    def cleaned(value: str) -> str | None:
        return clean_environment({name: value, "DATA": value}, "/own", ["/work"]).get(name)

    for inside in ("/work", "/work/.config", "beside", "/etc/../work/x", "//work/x"):
        assert not cleaned(inside)
    for outside in ("/etc/settings", "/workshop/settings"):
        assert outside == cleaned(outside)
    assert "/work/data" == clean_environment({"DATA": "/work/data"}, "/own", ["/work"])["DATA"]
