"""What a determined program tries from inside a sandbox. Run there: `python3 tries WORLD NAME`, or `python3 tries`.

Nothing is done for good, so that the same program can be run in a deliberately weak container, where it must succeed:
otherwise its failing elsewhere says nothing. WORLD is JSON. Without arguments: every name with the group it is in.
"""

import importlib
import json
import sys

from attempt import TRIES, WORLD

GROUPS = {
    "network": "network",
    "engine": "Docker socket",
    "kernel_files": "files of the kernel",
    "worlds": "mounts, namespaces",
    "processes": "other processes",
    "rights": "devices, rights, keys",
    "doors": "doors of the kernel",
    "clock": "clock",
    "amounts": "exhaustion",
}
"""Module -> what its tries are about."""


def groups():
    """Name of a try -> what it is about."""
    found = {}
    for module, about in GROUPS.items():
        importlib.import_module(module)
        found |= {name: about for name in TRIES if name not in found}
    return found


def main():
    found = groups()
    if len(sys.argv) == 1:
        print(json.dumps(found))
        return
    WORLD.update(json.loads(sys.argv[1]))
    try:
        achieved = TRIES[sys.argv[2]]()
    except (OSError, MemoryError, AttributeError, ValueError) as refused:
        print(json.dumps({"escaped": False, "what": f"{type(refused).__name__}: {refused}"}))
    else:
        print(json.dumps({"escaped": True, "what": achieved}))


if __name__ == "__main__":
    main()
