"""Names to classes, and to functions if an interface takes them: built-ins, installed packages, a suite's own files.

A name is one of: a built-in's short name; the name of an entry point in the group `harness.<seam>`; `module:Name`;
or `file.py:Name`, the file being relative to the suite's folder.
"""

import hashlib
import importlib
import importlib.util
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from threading import RLock
from traceback import walk_tb
from types import ModuleType
from typing import Final
from urllib.parse import unquote, urlsplit

from harness.disk import is_file
from harness.errors import UsageError
from harness.text import alternatives

_PREFIX = "harness_plugin_"
"""Of the module names that files of a suite are loaded under."""
_LOADING: Final = RLock()
"""A file is listed among the modules before it has run: another thread must not find half of it."""


@dataclass(frozen=True, kw_only=True)
class Registry:
    """The implementations of one seam: those of the harness, and those of installed packages.

    Both are written as `module:name`, the harness's own in `built_in`, a package's in its entry points of the group
    `harness.<seam>`. Modules are imported on first use. A package cannot override a built-in name.
    """

    seam: str
    built_in: Mapping[str, str]
    """Name -> `module:name`, in the order in which they are listed and applied."""

    @property
    def names(self) -> tuple[str, ...]:
        """The built-in names, then the entry points that installed packages have beside them."""
        return (*self.built_in, *(name for name in plugin_names(self.seam) if name not in self.built_in))

    def find(self, name: str, folder: Path | None = None) -> object:
        """The implementation called `name`; raises UsageError as `find_object` does."""
        if name in self.built_in:
            return _from_module(self.seam, self.built_in[name], None)
        return find_object(self.seam, name, self.built_in, folder)


def find_plugin(seam: str, name: str, built_in: Mapping[str, type], folder: Path | None = None) -> type:
    """The class called `name` on a seam such as "verifier" or "metric".

    Raises UsageError that lists the known names, or gives the reason why the file or module cannot be loaded.
    """
    return _checked(seam, name, find_object(seam, name, built_in, folder))


def find_object(seam: str, name: str, built_in: Mapping[str, object], folder: Path | None = None) -> object:
    """As `find_plugin`, for seams that take functions too."""
    if name in built_in:
        return built_in[name]
    if ":" in name:
        return _from_module(seam, name, folder)
    found = {point.name: point for point in entry_points(group=f"harness.{seam}")}
    if name not in found:
        known = alternatives(name, {*built_in, *found}) or "none is known"
        raise UsageError(
            f"there is no {seam} named {name!r}",
            remedy=f"{known}; or module:Name; or file.py:Name in the suite",
        )
    return _from_package(seam, found[name])


def plugin_names(seam: str) -> tuple[str, ...]:
    """The entry points that installed packages have for a seam."""
    return tuple(sorted({point.name for point in entry_points(group=f"harness.{seam}")}))


def _from_module(seam: str, name: str, folder: Path | None) -> object:
    place, _, attribute = name.rpartition(":")
    module = _file_module(seam, Path(folder or ".") / place) if place.endswith(".py") else _module(seam, name, place)
    if not hasattr(module, attribute):
        raise UsageError(f"{seam} {name!r}: {place} has no {attribute!r}")
    found: object = getattr(module, attribute)
    return found


def _from_package(seam: str, point: EntryPoint) -> object:
    try:
        loaded: object = point.load()
    except Exception as error:  # a plug-in's own code: whatever it raises is its author's to read
        package = "" if point.dist is None else f" of the package {point.dist.name!r}"
        raise UsageError(
            f"{seam} {point.name!r}: the entry point {point.value!r}{package} cannot be loaded: {described(error)}",
            remedy="correct that package, or uninstall it",
        ) from error
    return loaded


def _module(seam: str, name: str, place: str) -> ModuleType:
    try:
        return importlib.import_module(place)
    except (ImportError, TypeError, ValueError) as error:  # the latter two: a name that begins with a dot, or is empty
        raise UsageError(f"{seam} {name!r}: {error}", remedy="module:Name, or file.py:Name in the suite") from None
    except Exception as error:  # a plug-in's own code
        raise UsageError(f"{seam} {name!r}: {place} cannot be loaded: {described(error)}") from error


def _file_module(seam: str, path: Path) -> ModuleType:
    if not is_file(path):
        raise UsageError(f"{seam}: there is no file {path}")
    unique = f"{_PREFIX}{hashlib.sha256(str(path.resolve()).encode()).hexdigest()[:12]}_{path.stem}"
    with _LOADING:
        return sys.modules.get(unique) or _loaded(seam, path, unique)


def _loaded(seam: str, path: Path, unique: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(unique, path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{seam}: {path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[unique] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # a plug-in's own code: whatever it raises is its author's to read
        del sys.modules[unique]
        raise UsageError(f"{seam}: {path} cannot be loaded: {described(error)}") from error
    return module


def described(error: BaseException) -> str:
    """What a plug-in's own code raised, with the file and line of that code: of the suite's file, else of the package.

    The package is the first one that the harness called; what it called itself is not named.
    """
    said = f"{type(error).__name__}: {error}"
    if isinstance(error, SyntaxError):
        return said  # names its file and line itself
    places = [
        (str(frame.f_globals.get("__name__", "")), f"{Path(frame.f_code.co_filename).name}:{line}")
        for frame, line in walk_tb(error.__traceback__)
    ]
    own = [place for module, place in places if module.startswith(_PREFIX)]
    foreign = [(module.partition(".")[0], place) for module, place in places if _is_foreign(module)]
    own = own or [place for package, place in foreign if package == foreign[0][0]]
    return f"{own[-1]}: {said}" if own else said


def _is_foreign(module: str) -> bool:
    package = module.partition(".")[0]
    return package not in ("harness", "__main__") and package not in sys.stdlib_module_names


def _checked(seam: str, name: str, found: object) -> type:
    if not isinstance(found, type):
        raise UsageError(f"{seam} {name!r} is not a class")
    return found


# The distribution that the harness is installed from: its name, its origin, and how to add an extra.
#
# The name on a public index belongs to whoever registers it. No message, document or generated file therefore
# installs by
# the bare name; an extra is added from the origin of this installation.

DISTRIBUTION = "trial-harness"
"""The project's name in pyproject.toml. The command and the import package are both called `harness`."""


def extra_remedy(extra: str) -> str:
    """The command that adds an optional dependency to this installation, as the remedy of an error message.

    The place is read from `direct_url.json` (PEP 610): a folder, an archive or a commit. Without one, the place is not
    known and no command is made up.
    """
    origin = _origin()
    if origin is None:
        return f'install the extra `{extra}` from where this harness was installed from (README.md, "Install")'
    url, editable = origin
    if editable:
        return f"pip install --editable '{unquote(urlsplit(url).path)}[{extra}]'"
    return f"pip install '{DISTRIBUTION}[{extra}] @ {url}'"


def _origin() -> tuple[str, bool] | None:
    """The requirement URL that this installation came from, and whether it is an editable source folder."""
    try:
        text = metadata.distribution(DISTRIBUTION).read_text("direct_url.json")
        said = json.loads(text) if text else None
        if said is None:
            return None
        url, version_control = said["url"], said.get("vcs_info")
        if version_control is not None:
            url = f"{version_control['vcs']}+{url}@{version_control['commit_id']}"
        return url, bool(said.get("dir_info", {}).get("editable"))
    except (metadata.PackageNotFoundError, ValueError, KeyError, TypeError, AttributeError):
        return None
