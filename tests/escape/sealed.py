"""The sealed state that attacks start from: it has a folder, which a warm container shows by an overlay."""

from harness.sandbox.snapshot import SealedFile, Snapshot


def sealed_folder(image: str) -> Snapshot:
    folder = SealedFile(path="/work/sealed", kind="directory", mode=0o755)
    return Snapshot(name="sealed", environment="base", image=image, files=(folder,))
