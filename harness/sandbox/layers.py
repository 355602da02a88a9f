"""The layers of an image as folders of the engine's machine.

Engines whose own file system runs as a program (fuse-overlayfs) ask that program about every file that is opened: a
Python program that imports an SDK waits more for that than for anything else. Where the kernel can lay the same layers
over each other itself, a warm container shows its trials `/usr` that way.
"""

from collections.abc import Callable
from typing import Any

from docker.errors import NotFound

_BY_A_PROGRAM = "fuse-overlayfs"
_ROOTLESS = "name=rootless"


def layers_by_image(info: dict[str, Any], inspect: Callable[[str], dict[str, Any]]) -> Callable[[str], list[str]]:
    """What gives the folders of an image's layers, the uppermost first; none where the kernel mounts them anyway.

    None of a rootless engine either: what its layers leave out is marked in a way that the kernel does not know.
    """
    if info.get("Driver") != _BY_A_PROGRAM or _ROOTLESS in (info.get("SecurityOptions") or ()):
        return lambda _: []

    def layers(image: str) -> list[str]:
        try:
            folders = (inspect(image).get("GraphDriver") or {}).get("Data") or {}
        except NotFound:  # the caller that starts it reports this
            return []
        upper, lower = folders.get("UpperDir"), folders.get("LowerDir")
        return [upper, *lower.split(":")] if upper and lower else []

    return layers
