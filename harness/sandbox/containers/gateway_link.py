"""Links the files of a gateway session into a folder that is already mounted into a container."""

import os
from contextlib import suppress
from pathlib import Path

from harness.errors import SandboxError


def link_gateway(socket: Path, folder: Path) -> None:
    """Hard-links everything next to the session's socket into `folder`, which is created where it is missing.

    A socket is its inode: a connection to the second name reaches the same gateway. Raises SandboxError where
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
    """Removes the links, so that the folder can be used for the next session."""
    with suppress(FileNotFoundError):  # nothing was ever linked, or the folder has been removed
        for file in folder.iterdir():
            file.unlink(missing_ok=True)
