"""Packs the running installation as a wheel, so that other machines install exactly this program.

Building one from source needs the source folder; an installation contains its own files and metadata.
"""

import base64
import hashlib
import zipfile
from importlib import metadata
from io import BytesIO
from pathlib import Path

from harness import __version__
from harness.distribution import DISTRIBUTION
from harness.errors import HarnessError

_PACKAGE = Path(__file__).parents[2]
_STEM = f"{DISTRIBUTION.replace('-', '_')}-{__version__}"
WHEEL_NAME = f"{_STEM}-py3-none-any.whl"
_WHEEL = "Wheel-Version: 1.0\nGenerator: harness\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
_EPOCH = (1980, 1, 1, 0, 0, 0)
"""The earliest time that a zip archive can hold: the same files give the same bytes."""


def own_wheel() -> bytes:
    """The wheel's bytes. Raises HarnessError where the harness runs from a source folder that is not installed."""
    files = {path.relative_to(_PACKAGE.parent).as_posix(): path.read_bytes() for path in _package_files()}
    files |= {f"{_STEM}.dist-info/{name}": text.encode() for name, text in _metadata().items()}
    record = f"{_STEM}.dist-info/RECORD"
    lines = [f"{name},sha256={_digest(content)},{len(content)}\n" for name, content in sorted(files.items())]
    files[record] = "".join([*lines, f"{record},,\n"]).encode()
    archive = BytesIO()
    with zipfile.ZipFile(archive, "w") as wheel:
        for name, content in files.items():
            member = zipfile.ZipInfo(name, _EPOCH)
            member.external_attr = 0o644 << 16
            wheel.writestr(member, content, zipfile.ZIP_DEFLATED)
    return archive.getvalue()


def _package_files() -> list[Path]:
    return sorted(path for path in _PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)


def _metadata() -> dict[str, str]:
    try:
        own = metadata.distribution(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        raise HarnessError(
            f"the distribution {DISTRIBUTION} is not installed, so no wheel of it can be made",
            remedy="python -m pip install --no-deps --editable . in its source folder, or name a wheel: --install FILE",
        ) from None
    texts = {name: own.read_text(name) for name in ("METADATA", "entry_points.txt")}
    return {name: text for name, text in texts.items() if text is not None} | {"WHEEL": _WHEEL}


def _digest(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
