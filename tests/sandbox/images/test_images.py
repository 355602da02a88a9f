"""Images built by a real engine."""

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.errors import ImageError
from harness.sandbox.images.store import ImageStore
from tests.sandbox.images.conftest import wheel

pytestmark = pytest.mark.docker

Project = Callable[..., Path]

DOCKERFILE = "ARG BASE=base\nFROM ${BASE}\nCOPY run.sh /run.sh\n"


def run(store: ImageStore, tag: str, *command: str) -> str:
    output = store.client.containers.run(tag, list(command), remove=True, network_disabled=True)
    return str(output.decode())


@pytest.mark.slow
def test_an_image_is_built_once_and_found_again_by_its_inputs(base: str, project: Project, name: str) -> None:
    store = ImageStore(project(**{f"{name}/Dockerfile": DOCKERFILE, f"{name}/run.sh": "echo one"}))
    with pytest.raises(ImageError, match=f"harness image build {name}"):
        store.tag(name)

    first = store.build(name)
    again = ImageStore(project()).build(name)
    project(**{f"{name}/run.sh": "echo two"})
    changed = ImageStore(project()).build(name)

    assert (False, True, False) == (first.reused, again.reused, changed.reused)
    assert f"harness/{name}:{first.digest[:12]}" == first.tag == again.tag == store.tag(name)
    assert ["one\n", "two\n"] == [run(store, image.tag, "sh", "/run.sh") for image in (first, changed)]
    assert first.packages_digest == changed.packages_digest


@pytest.mark.slow
def test_an_image_that_builds_on_another_has_it_built_first(base: str, project: Project, name: str) -> None:
    files = {f"{name}/Dockerfile": DOCKERFILE, f"{name}/run.sh": "echo below"}
    files |= {f"{name}/top/Dockerfile": f"ARG BASE={name}\nFROM $BASE\nENV ABOVE=1\n"}
    store = ImageStore(project(**files))

    top = store.build(f"{name}/top")

    assert "below\n1\n" == run(store, top.tag, "sh", "-c", "sh /run.sh; echo $ABOVE")
    store.client.api.remove_image(top.tag)


@pytest.mark.slow
def test_images_that_build_on_each_other_are_refused(base: str, project: Project) -> None:
    files = {"a/Dockerfile": "ARG BASE=b\nFROM ${BASE}\n", "b/Dockerfile": "ARG BASE=a\nFROM ${BASE}\n"}

    with pytest.raises(ImageError, match="a on b on a"):
        ImageStore(project(**files)).build("a")


@pytest.mark.slow
def test_a_failing_step_is_shown_with_its_last_lines_and_leaves_no_tag(base: str, project: Project, name: str) -> None:
    text = "ARG BASE=base\nFROM ${BASE}\nRUN echo before; echo no such disk >&2; exit 7\n"
    store = ImageStore(project(**{f"{name}/Dockerfile": text}))

    with pytest.raises(ImageError, match=r"non-zero code: 7\n  in Step 3/3 : RUN echo(.|\n)*no such disk"):
        store.build(name)

    assert [] == store.client.api.images(f"harness/{name}")


@pytest.mark.slow
def test_the_base_image_has_python_with_bytecode_certificates_and_no_caches(base: str, tmp_path: Path) -> None:
    store = ImageStore(tmp_path)
    script = (
        "import asyncio, ctypes, json, locale, pathlib, sqlite3, ssl, sys;"
        "print(sys.version_info[:2], locale.getpreferredencoding(), bool(ssl.create_default_context().get_ca_certs()),"
        " pathlib.Path(json.__cached__).exists(), pathlib.Path(asyncio.__cached__).exists(),"
        " sum(path.stat().st_size for path in pathlib.Path('/var/cache/apt').rglob('*') if path.is_file()))"
    )

    assert "(3, 11) UTF-8 True True True 0\n" == run(store, base, "python3", "-c", script)
    assert store.build("base").size_mb < 200


def requirement_of(folder: Path, version: str) -> str:
    """A package in the folder, and the lines that require it from there."""
    return (
        f"--no-index\n--find-links {folder}\ntinypack=={version} --hash=sha256:{wheel(folder, 'tinypack', version)}\n"
    )


@pytest.mark.slow
def test_wheels_are_fetched_by_hash_and_lie_in_the_image_with_bytecode(
    base: str, project: Project, name: str, tmp_path: Path
) -> None:
    text = "ARG BASE=base\nFROM ${BASE}\nRUN python3 -c 'import tinypack'\n"
    store = ImageStore(
        project(**{f"{name}/Dockerfile": text, f"{name}/requirements.txt": requirement_of(tmp_path, version="1.5")})
    )

    said: list[str] = []
    built = store.build(name, said.append)

    assert "  tinypack" in said
    script = "import tinypack, pathlib; print(tinypack.VERSION, pathlib.Path(tinypack.__cached__).exists())"
    assert "1.5 True\n" == run(store, built.tag, "python3", "-c", script)
    assert "python:tinypack=1.5" in store.packages(built.tag)
    assert "python:tinypack=1.5" not in store.packages(base)
    layers = [tag for layer in store.client.api.history(built.tag) for tag in layer["Tags"] or ()]
    for tag in [built.tag, *(tag for tag in layers if tag.startswith("harness/wheels:"))]:
        store.client.api.remove_image(tag)


@pytest.mark.slow
def test_wheels_that_cannot_be_had_are_refused_before_anything_is_built(
    base: str, project: Project, name: str, tmp_path: Path
) -> None:
    requirement, said = requirement_of(tmp_path, version="1.6"), list[str]()
    files = {
        f"{name}/Dockerfile": DOCKERFILE,
        f"{name}/run.sh": "",
        f"{name}/top/Dockerfile": f"ARG BASE={name}\nFROM $BASE\n",
    }
    no_wheel = requirement.replace("tinypack==1.6", "tinypack==1.7")
    for wrong, why in (
        (requirement.replace(requirement[-12:-1], "0" * 11), "DO NOT MATCH"),
        (no_wheel, "tinypack==1.7"),
    ):
        with pytest.raises(ImageError, match=why):
            ImageStore(project(**files, **{f"{name}/top/requirements.txt": wrong})).build(f"{name}/top", said.append)
    assert not [line for line in said if "building" in line]
