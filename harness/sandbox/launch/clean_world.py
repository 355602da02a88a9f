"""The environment of a program that must not execute files of an agent: folders and variables.

Programs search for code through HOME (start files of shells, a user's Python packages), by the working directory and
the folder of a script, and by variables. Here each of them leads to an empty folder, or nowhere.
"""

import posixpath
from collections.abc import Collection, Mapping

OWN_FOLDER = "/tmp/harness-own"
"""A folder below the temporary one, from which no file is transferred between sandboxes."""
OWN_HOME = f"{OWN_FOLDER}/home"
OWN_WORK = f"{OWN_FOLDER}/work"
OWN_FOLDERS = (OWN_FOLDER, OWN_HOME, OWN_WORK)

_PYTHON = {
    "PYTHONSAFEPATH": "1",  # no module beside the script or in the working directory
    "PYTHONNOUSERSITE": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}
_LISTS_OF_FOLDERS = (
    *("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "NODE_PATH", "PERL5LIB", "PERLLIB", "RUBYLIB", "CLASSPATH"),
    *("PYTHONHOME", "XDG_CONFIG_DIRS", "XDG_DATA_DIRS", "TCLLIBPATH", "GUILE_LOAD_PATH", "R_LIBS", "R_LIBS_USER"),
)
_START_FILES = (
    *("BASH_ENV", "ENV", "PYTHONSTARTUP", "LD_PRELOAD", "LD_AUDIT", "NODE_OPTIONS", "PERL5OPT", "RUBYOPT", "MAKEFILES"),
    *(
        "PYTHONBREAKPOINT",
        "JAVA_TOOL_OPTIONS",
        "JDK_JAVA_OPTIONS",
        "_JAVA_OPTIONS",
        "LUA_INIT",
        "LUA_PATH",
        "LUA_CPATH",
    ),
)
_OF_SETTINGS = (
    *("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "ZDOTDIR", "PYTHONUSERBASE", "INPUTRC", "PSQLRC"),
    *("GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR", "PIP_CONFIG_FILE", "CARGO_HOME"),
    *("NPM_CONFIG_USERCONFIG", "NPM_CONFIG_GLOBALCONFIG", "NPM_CONFIG_PREFIX", "PHPRC", "PHP_INI_SCAN_DIR", "GEM_HOME"),
    *("BUNDLE_GEMFILE", "R_PROFILE", "R_PROFILE_USER", "R_ENVIRON", "R_ENVIRON_USER", "GOENV"),
)
"""Files and folders for settings, which may name programs, or for packages."""


def clean_environment(environment: Mapping[str, str], home: str, places: Collection[str]) -> dict[str, str]:
    """The variables without those that point into one of the writable `places`; `home` is the program's own."""
    kept = {name: value for name, value in environment.items() if name not in _START_FILES}
    for name in _LISTS_OF_FOLDERS:
        if name in kept:
            kept[name] = ":".join(part for part in kept[name].split(":") if _is_outside(part, places))
    for name in _OF_SETTINGS:
        if name in kept and not _is_outside(kept[name], places):
            del kept[name]
    # Compiled code beside a module is loaded as the module's: this folder prevents that search.
    return {**kept, **_PYTHON, "HOME": home, "PYTHONPYCACHEPREFIX": f"{home}/.pycache"}


def _is_outside(folder: str, places: Collection[str]) -> bool:
    """A relative folder counts as inside: it is resolved against the working directory."""
    plain = "/" + posixpath.normpath(folder).lstrip("/")
    return folder.startswith("/") and not any(plain == place or plain.startswith(f"{place}/") for place in places)
