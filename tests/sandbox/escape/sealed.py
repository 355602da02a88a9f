"""The sealed state that attacks start from: it has a folder, which a warm container shows by an overlay."""

from harness.sandbox.snapshot import Snapshot, SnapshotEntry


def sealed_folder(image: str) -> Snapshot:
    folder = SnapshotEntry(path="/work/sealed", kind="directory", mode=0o755)
    return Snapshot(name="sealed", environment="base", image=image, files=(folder,))
