"""The environment of a program that must not execute files of an agent: folders and variables.

Programs search for code through HOME (start files of shells, a user's Python packages), by the working directory and
the folder of a script, and by variables. Here each of them leads to an empty folder, or nowhere.
"""

from collections.abc import Collection, Mapping

OWN_FOLDER = "/tmp/harness-own"
"""Below the temporary folder, of which nothing is ever taken from one sandbox into another."""
OWN_HOME = f"{OWN_FOLDER}/home"
OWN_WORK = f"{OWN_FOLDER}/work"
OWN_FOLDERS = (OWN_FOLDER, OWN_HOME, OWN_WORK)

_PYTHON = {
    "PYTHONSAFEPATH": "1",  # no module beside the script or in the working directory
    "PYTHONNOUSERSITE": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}
_LISTS_OF_FOLDERS = ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH", "NODE_PATH", "PERL5LIB", "RUBYLIB", "CLASSPATH")
_START_FILES = ("BASH_ENV", "ENV", "PYTHONSTARTUP", "LD_PRELOAD", "NODE_OPTIONS", "PERL5OPT", "RUBYOPT")


def clean_environment(environment: Mapping[str, str], home: str, places: Collection[str]) -> dict[str, str]:
    """The variables without what leads into one of the writable `places`; `home` is the program's own."""
    kept = {name: value for name, value in environment.items() if name not in _START_FILES}
    for name in _LISTS_OF_FOLDERS:
        if name in kept:
            kept[name] = ":".join(part for part in kept[name].split(":") if _is_outside(part, places))
    # Compiled code beside a module is loaded as the module's: this folder prevents that search.
    return {**kept, **_PYTHON, "HOME": home, "PYTHONPYCACHEPREFIX": f"{home}/.pycache"}


def _is_outside(folder: str, places: Collection[str]) -> bool:
    """A relative folder is inside: it is looked for from the working directory."""
    return folder.startswith("/") and not any(folder == place or folder.startswith(f"{place}/") for place in places)
