"""`harness image build --lock`, and the words for requirements whose wheels cannot be had. A folder is the index."""

import tarfile
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from harness.errors import HarnessError, ImageError, UsageError
from harness.sandbox.images.wheels import lock_requirements, wheels_context
from tests.sandbox.images.conftest import wheel
from tests.supply.test_lock import unpinned

MACHINE = "x86_64"
Lock = Callable[..., Result]


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def lock(tmp_path: Path) -> Lock:
    def run(asked: str | None) -> Result:
        folder = tmp_path / "images" / "tools"
        folder.mkdir(parents=True, exist_ok=True)
        if asked is not None:
            (folder / "requirements.in").write_text(asked)

        @click.command()
        def pin() -> None:
            lock_requirements(tmp_path, "tools", MACHINE, lambda text: click.echo(text, err=True))

        return CliRunner().invoke(pin)

    return run


def fetched(tmp_path: Path, requirements: str) -> set[str]:
    files = wheels_context(requirements, MACHINE, tmp_path / "cache", lambda _: None)
    return {file.path for file in files}


@pytest.mark.slow
def test_what_is_asked_for_is_pinned_with_all_that_it_needs_and_can_be_fetched(
    index: Path, lock: Lock, tmp_path: Path
) -> None:
    wheel(index, "big", "1.0")
    big, small = (
        wheel(index, "big", "1.2", needs="small>=2"),
        wheel(index, "small", "2.1", "cp311-cp311-manylinux_2_28_x86_64"),
    )
    wheel(index, "small", "3.0", "cp311-cp311-manylinux_2_28_aarch64")  # another machine's

    done = lock("big>=1\n")

    assert 0 == done.exit_code, done.output
    assert ["  big", "  small"] == done.stderr.splitlines()[1:]  # while pip looks for them, and no address
    text = (tmp_path / "images/tools/requirements.txt").read_text()
    pins = [line for line in text.splitlines() if not line.startswith("#")]
    assert [f"big==1.2 --hash=sha256:{big}", f"small==2.1 --hash=sha256:{small}"] == pins
    assert [] == unpinned("\n".join(pins))
    assert "://" not in text
    assert str(index) not in text
    assert {"site/big/__init__.py", "site/small/__init__.py"} <= fetched(tmp_path, text)


@pytest.mark.slow
def test_a_pin_holds_where_another_package_asks_for_it_with_extras(index: Path, tmp_path: Path) -> None:
    pinned = wheel(index, "big", "1.0")
    wheel(index, "big", "1.2")  # released after the pins were made
    user = wheel(index, "user", "1.0", needs="big[more]>=1.0")
    pins = f"big==1.0 --hash=sha256:{pinned}\nuser==1.0 --hash=sha256:{user}\n"
    assert "site/big-1.0.dist-info/METADATA" in fetched(tmp_path, pins)


@pytest.mark.slow
def test_a_pin_may_name_extras_itself(index: Path, tmp_path: Path) -> None:
    plain, asking = wheel(index, "plain", "1.0"), wheel(index, "asking", "1.0", needs="plain[more]>=1")
    pins = (
        f"asking[first, second]==1.0 \\\n    --hash=sha256:{asking}\nplain[more]==1.0 \\\n    --hash=sha256:{plain}\n"
    )

    assert {"site/plain/__init__.py", "site/asking/__init__.py"} <= fetched(tmp_path, pins)


@pytest.mark.slow
def test_a_requirement_without_a_wheel_is_named_and_the_old_lock_stays(index: Path, lock: Lock, tmp_path: Path) -> None:
    with tarfile.open(index / "kinto-16.3.0.tar.gz", "w:gz") as archive:
        (tmp_path / "setup.py").write_text("")
        archive.add(tmp_path / "setup.py", "kinto-16.3.0/setup.py")
    (tmp_path / "images/tools").mkdir(parents=True)
    (tmp_path / "images/tools/requirements.txt").write_text("old")

    done = lock("kinto==16.3.0\n")

    assert isinstance(done.exception, ImageError)
    assert "kinto==16.3.0 (CPython 3.11, x86_64)" in done.exception.message
    assert "pip wheel --no-deps --wheel-dir wheels kinto" in str(done.exception.remedy)
    assert "old" == (tmp_path / "images/tools/requirements.txt").read_text()


@pytest.mark.slow
def test_a_package_without_a_wheel_that_another_one_needs_is_named(index: Path, lock: Lock) -> None:
    wheel(index, "isso", "0.12", needs="misaka>=1.0,<2.0")
    wheel(index, "isso", "0.13", needs="misaka>=2.0,<3.0")

    done = lock("isso\n")

    assert isinstance(done.exception, ImageError)
    assert "isso 0.13 depends on misaka<3.0" in done.exception.message
    assert done.exception.remedy


@pytest.mark.slow
@pytest.mark.parametrize(
    ("requirement", "said", "remedy"),
    [
        ("kinto==16.3.0 --hash=sha256:{zeros}", "No wheel exists for kinto==16.3.0", "a version of kinto"),
        ("small==1.0", "a requirement has no hash", "harness image build NAME --lock"),
        (
            "small==1.0 --hash=sha256:{zeros}",
            "a wheel is not the one that was pinned",
            "harness image build NAME --lock",
        ),
    ],
)
def test_why_wheels_cannot_be_fetched_is_said(
    index: Path, tmp_path: Path, requirement: str, said: str, remedy: str
) -> None:
    wheel(index, "small", "1.0")
    with pytest.raises(ImageError) as caught:
        fetched(tmp_path, requirement.format(zeros="0" * 64))
    assert said in caught.value.message
    assert remedy in str(caught.value.remedy)


@pytest.mark.slow
def test_an_index_that_does_not_answer_is_not_taken_for_a_missing_wheel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:1/")
    monkeypatch.setenv("PIP_RETRIES", "1")
    monkeypatch.delenv("PIP_NO_INDEX", raising=False)
    with pytest.raises(ImageError, match="no package index answers"):
        fetched(tmp_path, f"small==1.0 --hash=sha256:{'0' * 64}")


def test_an_image_that_asks_for_nothing_is_refused_with_the_way_to_ask(lock: Lock) -> None:
    done = lock(None)
    assert isinstance(done.exception, UsageError)
    assert isinstance(done.exception, HarnessError)
    assert "echo kinto" in str(done.exception.remedy)
