"""The layers of an image as folders on the engine's machine.

Engines whose own file system runs as a program (fuse-overlayfs) ask that program about every file that is opened: a
Python program that imports an SDK waits more for that than for anything else. Where the kernel can stack the layers
by itself, a warm container shows its trials `/usr` that way.
"""

from collections.abc import Callable
from typing import Any

from docker.errors import NotFound

_BY_A_PROGRAM = "fuse-overlayfs"
_ROOTLESS = "name=rootless"


def layers_by_image(info: dict[str, Any], inspect: Callable[[str], dict[str, Any]]) -> Callable[[str], list[str]]:
    """The lookup of an image's layer folders, the uppermost first; empty where the kernel mounts them itself.

    Also empty for a rootless engine: the kernel does not know how its layers mark deleted files.
    """
    if info.get("Driver") != _BY_A_PROGRAM or _ROOTLESS in (info.get("SecurityOptions") or ()):
        return lambda _: []

    def layers(image: str) -> list[str]:
        try:
            folders = (inspect(image).get("GraphDriver") or {}).get("Data") or {}
        except NotFound:  # the caller, which starts the image, reports this
            return []
        upper, lower = folders.get("UpperDir"), folders.get("LowerDir")
        return [upper, *lower.split(":")] if upper and lower else []

    return layers
