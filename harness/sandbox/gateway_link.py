"""The files of a gateway session in a folder that a container has already."""

import os
from contextlib import suppress
from pathlib import Path

from harness.errors import SandboxError


def link_gateway(socket: Path, folder: Path) -> None:
    """Gives everything beside the session's socket a second name in `folder`, which is made where it is missing.

    A socket is its inode: whoever connects to the second name reaches the same gateway. Raises SandboxError where
    the two folders are on different file systems.
    """
    folder.mkdir(mode=0o755, exist_ok=True)
    try:
        for file in socket.parent.iterdir():
            os.link(file, folder / file.name)
    except OSError as error:
        raise SandboxError(
            f"the gateway's socket cannot be given to a container that runs already: {error}",
            remedy="set TMPDIR to a folder with a short path, or use --sandbox docker without --prefetch",
        ) from error


def unlink_gateway(folder: Path) -> None:
    """Takes the second names away again, so that the folder can be used for the next session."""
    with suppress(FileNotFoundError):  # nothing was ever linked, or the folder has been removed
        for file in folder.iterdir():
            file.unlink(missing_ok=True)
