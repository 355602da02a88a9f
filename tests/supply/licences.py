"""`make licences`: what an installation of the harness brings with it, and under which licence."""

import re
import sys
from importlib import metadata

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

_OUR_EXTRAS = ("", "otlp", "github", "calibrate", "ray")
"""Not `dev`: what is only developed with is handed on to nobody."""
_ALLOWED = frozenset(
    {
        *("MIT", "MIT-0", "Apache-2.0", "BSD", "BSD-2-Clause", "BSD-3-Clause", "0BSD", "ISC", "Zlib"),
        "CNRI-Python",  # permissive, of Python 1.6: `regex` has code of the module `re`
        *("PSF-2.0", "MPL-2.0", "Unlicense", "CC0-1.0"),
        *("LGPL", "LGPL-3.0", "LGPL-3.0-only", "LGPL-3.0-or-later"),
    }
)
"""Those that let anybody use the harness for anything. MPL and LGPL: of libraries that are used unchanged."""
_SAME = {
    "apache software license": "Apache-2.0",
    "apache license 2.0": "Apache-2.0",
    "apache license, version 2.0": "Apache-2.0",
    "apache 2.0": "Apache-2.0",
    "apache2": "Apache-2.0",
    "apache-2": "Apache-2.0",
    "mit license": "MIT",
    "the mit license": "MIT",
    "expat license": "MIT",
    "bsd license": "BSD",
    "bsd-3": "BSD-3-Clause",
    "3-clause bsd license": "BSD-3-Clause",
    "python software foundation license": "PSF-2.0",
    "psf": "PSF-2.0",
    "isc license (iscl)": "ISC",
    "mozilla public license 2.0 (mpl 2.0)": "MPL-2.0",
    "gnu lesser general public license v3 (lgplv3)": "LGPL-3.0",
    "gnu library or lesser general public license (lgpl)": "LGPL",
}


def brought(name: str = "trial-harness", extras: tuple[str, ...] = _OUR_EXTRAS) -> set[str]:
    """Everything that an installation with these extras brings, by name; what is not for this machine is left out."""
    found: set[str] = set()
    waiting = [(name, extras)]
    while waiting:
        package, wanted = waiting.pop()
        for line in metadata.requires(package) or []:
            asked = Requirement(line)
            if asked.marker is not None and not any(asked.marker.evaluate({"extra": extra}) for extra in wanted):
                continue
            known = canonicalize_name(asked.name)
            if known not in found and _is_installed(known):
                found.add(known)
                waiting.append((known, ("", *asked.extras)))
    return found


def licences_of(name: str) -> tuple[str, ...]:
    """As the package itself tells: by expression, by classifier, or by words.

    Fields are read by `get_all`: once something has imported the backport importlib_metadata, a missing one is a
    KeyError and not None.
    """
    told = metadata.metadata(name)
    classified = [
        line.rpartition(" :: ")[2] for line in told.get_all("Classifier", []) if line.startswith("License ::")
    ]
    classified = [line for line in classified if line != "OSI Approved"]
    for expression in told.get_all("License-Expression", []):
        return tuple(re.split(r" (?:AND|OR) ", re.sub(r"[()]", "", expression)))
    words = [text.strip().splitlines()[0] for text in told.get_all("License", []) if text.strip()]
    return tuple(dict.fromkeys(_SAME.get(one.lower(), one) for one in classified or words))


def is_allowed(licences: tuple[str, ...]) -> bool:
    return bool(licences) and all(one in _ALLOWED for one in licences)


def _is_installed(name: str) -> bool:
    try:
        metadata.version(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def main() -> int:
    """Prints the table; 1 where a licence is not among those allowed."""
    rows = [(name, metadata.version(name), licences_of(name)) for name in sorted(brought())]
    for name, version, licences in rows:
        mark = "" if is_allowed(licences) else "  NOT ALLOWED"
        print(f"{name:45} {version:20} {', '.join(licences) or 'not told'}{mark}")
    return int(not all(is_allowed(licences) for _, _, licences in rows))


if __name__ == "__main__":
    sys.exit(main())
