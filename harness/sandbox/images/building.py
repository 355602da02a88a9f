"""The Debian base of every image, and how one image is built on it."""

import fcntl
import io
import os
import shutil
import subprocess
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Any

from harness.errors import ImageError
from harness.processes import APT, ProcessIdentity, ended_after, subprocess_environment
from harness.values import digest_of

if TYPE_CHECKING:
    import docker


# The tag is derived from the request (suite, packages, method), so that the image is built once; it is set only when it
# is complete. A pulled Debian and a bootstrapped one have the same tag: their package lists differ, and are recorded.

DEBIAN = "debian"
"""Name of the image at the root of all others."""

SUITE = "bookworm"
PYTHON = "3.11"
"""The Python version of that suite."""

_REPOSITORY = "harness/debian"
_PACKAGES = ("python3", "ca-certificates")

_FOLDER = "harness-debian-"
_PULL_ANSWERS_WITHIN_S = 20
_ENDS_WITHIN_S = 30
_MERGED_USR = "/usr/share/mmdebstrap/hooks/merged-usr"
_UNREAD = ("/usr/share/man/*", "/usr/share/doc/*", "/usr/share/info/*", "/usr/share/locale/*", "/usr/share/lintian/*")

# `usrmerge` would bring the whole of Perl, 50 MB; the hook of merged-usr makes it unnecessary, and the pin excludes it.
_NO_USRMERGE = (
    'mkdir -p "$1/etc/apt/preferences.d"'
    ' && printf "Package: usrmerge\\nPin: release *\\nPin-Priority: -1\\n" > "$1/etc/apt/preferences.d/usrmerge"'
)
# Without it, each later `apt-get install` leaves its downloads and indexes in the layer.
_NO_APT_CACHE = (
    "printf '%s\\n' 'Dir::Cache::pkgcache \"\";' 'Dir::Cache::srcpkgcache \"\";'"
    " 'DPkg::Post-Invoke { \"rm -f /var/cache/apt/archives/*.deb || true\"; };'"
    ' > "$1/etc/apt/apt.conf.d/docker-clean"'
)
_TIDY = (
    'rm -rf "$1"/etc/apt/preferences.d/usrmerge "$1"/var/lib/apt/lists/* "$1"/var/cache/apt/*.bin'
    ' "$1"/var/cache/debconf/*-old "$1"/var/log/*'
)
_SETTINGS = ("ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 'CMD ["/bin/sh"]')

Progress = Callable[[str], None]

INSTALL_TOOLS = "apt-get install --yes --no-install-recommends mmdebstrap"


def debian_tag() -> str:
    """The tag of the image, whether it exists or not."""
    asked = {"suite": SUITE, "packages": list(_PACKAGES), "settings": list(_SETTINGS), "how": list(_recipe())}
    return f"{_REPOSITORY}:{digest_of(asked)[:12]}"


def make_debian(client: "docker.DockerClient", progress: Progress) -> None:
    """Pulls or bootstraps the image `debian_tag()`.

    The environment variable HARNESS_DEBIAN_MIRROR names the mirror to bootstrap from; then nothing is pulled.
    Raises ImageError with the packages to install if it cannot be built.
    """
    mirror = os.environ.get("HARNESS_DEBIAN_MIRROR")
    if mirror is None and _pull(client, progress):
        return
    program = shutil.which("mmdebstrap")
    if program is None:
        raise ImageError(
            "nothing can be pulled, and mmdebstrap, which builds a base image from Debian packages, is not installed",
            remedy=f"as root: {INSTALL_TOOLS}",
        )
    for left in bootstraps_left():
        shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f"{_FOLDER}{ProcessIdentity.current()}-") as name:
        folder = Path(name)
        folder.chmod(0o755)  # mmdebstrap works as other users inside
        archive = folder / "debian.tar"
        progress(f"nothing can be pulled: putting Debian {SUITE} together from packages (about half a minute)")
        _bootstrap(_command(program, archive, mirror), folder, progress)
        progress(f"importing {archive.stat().st_size // 1_000_000} MB")
        _import(client, archive)


def _pull(client: "docker.DockerClient", progress: Progress) -> bool:
    """False if no registry answers; the SDK's own pull would wait indefinitely for the first answer."""
    import requests
    from docker.errors import APIError, ImageNotFound

    api = client.api
    progress(f"pulling debian:{SUITE}-slim")
    try:
        answer = api.post(
            f"{api.base_url}/v{api.api_version}/images/create",
            params={"fromImage": DEBIAN, "tag": f"{SUITE}-slim"},
            timeout=_PULL_ANSWERS_WITHIN_S,
            stream=True,
        )
        with answer:
            for _ in answer.iter_lines():
                pass
        client.images.get(f"{DEBIAN}:{SUITE}-slim").tag(debian_tag())
    except (requests.RequestException, ImageNotFound, APIError):
        return False
    return True


def _bootstrap(command: list[str], folder: Path, progress: Progress) -> None:
    last: deque[str] = deque(maxlen=_LAST_LINES)
    with ended_after(_start_process(command, folder), _ENDS_WITHIN_S) as process:
        assert process.stdout is not None
        for line in io.TextIOWrapper(process.stdout, "utf-8", errors="replace"):
            last.append(line.rstrip())
            if line.startswith("I: ") and "hook" not in line:
                progress(f"mmdebstrap: {last[-1][3:]}")
        process.wait()
    if process.returncode != 0:
        said = "\n".join(last)
        raise ImageError(
            f"mmdebstrap failed with exit status {process.returncode}:\n{said}",
            remedy="check that this machine reaches a Debian mirror; HARNESS_DEBIAN_MIRROR names another one",
        )


def _start_process(command: list[str], folder: Path) -> "subprocess.Popen[bytes]":
    """Starts a process in a session of its own: an interrupt from the terminal reaches only the harness, which ends the
    process in order.

    If the harness itself is killed, the kernel signals the process to end.
    """
    setpriv = shutil.which("setpriv")
    command = command if setpriv is None else [setpriv, "--pdeathsig", "TERM", "--", *command]
    environment = {**subprocess_environment(*APT), "TMPDIR": str(folder), "LC_ALL": "C.UTF-8"}
    return subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )


def bootstraps_left() -> list[Path]:
    """Folders of bootstraps whose process was killed.

    They are always safe to remove: mmdebstrap mounts in a namespace of its own, so they contain no mounts of this
    machine.
    """
    found = []
    for folder in Path(tempfile.gettempdir()).glob(f"{_FOLDER}*"):
        owner = ProcessIdentity.parse(folder.name.removeprefix(_FOLDER).rpartition("-")[0])
        if owner is not None and not owner.is_alive():
            found.append(folder)
    return found


def _command(program: str, archive: Path, mirror: str | None) -> list[str]:
    command = [program, f"--mode={'root' if os.geteuid() == 0 else 'unshare'}", *_recipe()]
    command += [f"--hook-dir={_MERGED_USR}"] if Path(_MERGED_USR).is_dir() else []
    return [*command, SUITE, str(archive), *([mirror] if mirror else [])]


def _recipe() -> tuple[str, ...]:
    return (
        "--variant=apt",
        f"--include={','.join(_PACKAGES)}",
        f"--setup-hook={_NO_USRMERGE}",
        f"--customize-hook={_NO_APT_CACHE}",
        f"--customize-hook={_TIDY}",
        '--aptopt=APT::Install-Recommends "false"',
        "--dpkgopt=force-unsafe-io",
        *(f"--dpkgopt=path-exclude={pattern}" for pattern in _UNREAD),
    )


def _import(client: "docker.DockerClient", archive: Path) -> None:
    from docker.errors import ImageNotFound

    from harness.sandbox.engine import name_imported

    repository, _, tag = debian_tag().partition(":")
    answer = client.api.import_image_from_file(str(archive), repository=repository, tag=tag, changes=list(_SETTINGS))
    name_imported(client, answer, repository, tag)
    try:
        client.images.get(debian_tag())
    except ImageNotFound:
        raise ImageError(f"the engine did not import the bootstrapped image: {str(answer)[-1000:]}") from None


TEMPORARY = "harness.temporary"
"""Label of build stages that are not needed afterwards."""

_SILENT_AT_MOST_S = 1800
_LAST_LINES = 20


def build_image(client: "docker.DockerClient", context: bytes, on_tag: str, tag: str, progress: Progress) -> None:
    """Builds `context` on the image `on_tag`; the engine sets the tag only when the build is complete.

    Leaving early, by an interrupt too, closes the connection: the engine then ends the step and removes its container.
    """
    import requests
    from docker.errors import APIError

    last: deque[str] = deque(maxlen=_LAST_LINES)
    step = "before the first step"
    try:
        for line in _events(client, context, on_tag, tag):
            if "error" in line:
                tail = "\n".join(f"    {text}" for text in last)
                raise ImageError(
                    f"image {tag!r} cannot be built: {line['error'].strip()}\n  in {step}\n{tail}",
                    remedy="correct the Dockerfile; inside a build apt works, pip does not (see requirements.txt)",
                )
            for text in str(line.get("stream", "")).splitlines():
                if text.startswith("Step "):
                    step = text
                    progress(shorten(text, 110))
                elif text.strip():
                    last.append(text.rstrip())
    except (APIError, requests.RequestException) as error:
        raise ImageError(f"image {tag!r} cannot be built: {error}\n  in {step}") from None
    finally:
        _remove_temporary(client)


@contextmanager
def one_at_a_time(cache: Path) -> Iterator[None]:
    """Waits until no other process of this user builds images: two builds would do the same work, or prune each other's
    layers.
    """
    try:
        cache.mkdir(parents=True, exist_ok=True)
        stream = (cache / "images.lock").open("wb")
    except OSError as error:
        raise ImageError(
            f"the folder {cache} cannot be used: {error.strerror}", remedy="set XDG_CACHE_HOME to another one"
        ) from None
    with stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def cache_folder() -> Path:
    """The folder in which wheels are cached between builds."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "harness"


def _events(client: "docker.DockerClient", context: bytes, on_tag: str, tag: str) -> Iterator[dict[str, Any]]:
    events = client.api.build(
        fileobj=io.BytesIO(context),
        custom_context=True,
        tag=tag,
        buildargs={"BASE": on_tag},
        decode=True,
        rm=True,
        forcerm=True,
        timeout=_SILENT_AT_MOST_S,
    )
    with closing(events):
        yield from events


def _remove_temporary(client: "docker.DockerClient") -> None:
    import requests
    from docker.errors import APIError

    try:
        client.api.prune_images(filters={"dangling": True, "label": f"{TEMPORARY}=true"})
    except APIError as error:
        if error.status_code != requests.codes.conflict:  # another prune is under way: it does the same
            raise
