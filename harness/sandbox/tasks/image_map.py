"""`images/map.yaml`: names of a registry's images, and the images of the project that stand for them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

from harness.alternatives import alternatives
from harness.disk import is_file
from harness.documents import read_document
from harness.errors import InvalidDocument
from harness.sandbox.images.recipe import image_names

IMAGE_MAP = "map.yaml"
_IMPLIED = ("docker.io/library/", "docker.io/", "index.docker.io/library/")


@dataclass(frozen=True, kw_only=True)
class ImageMap:
    """The map of a project; empty where it has none."""

    path: Path
    images: Mapping[str, str] = field(default_factory=dict)
    """Name or pattern -> image of the project, in the order in which they are tried."""

    def image_for(self, name: str) -> str | None:
        """The project's image for the name of a registry's; None: it is left to the engine."""
        plain = name
        for implied in _IMPLIED:
            plain = plain.removeprefix(implied)
        spelt = (name, plain, plain.partition("@")[0])
        return next((own for key, own in self.images.items() if any(fnmatchcase(one, key) for one in spelt)), None)


def read_image_map(project: Path) -> ImageMap:
    """The project's map. Raises InvalidDocument that names file and field for an image that the project lacks."""
    path = project / "images" / IMAGE_MAP
    if not is_file(path):
        return ImageMap(path=path)
    images = read_document(path, dict[str, str])
    known = image_names(project / "images")
    for key, own in images.items():
        if own not in known:
            raise InvalidDocument(path, f"the project has no image {own!r}", field=key, remedy=alternatives(own, known))
    return ImageMap(path=path, images=images)
