"""`conformance_of.py KIND IMAGE`: the checks of a provider in a process of another user, their problems as JSON."""

import json
import sys
import tempfile
from pathlib import Path

from harness.sandbox.conformance import run_conformance
from harness.sandbox.providers import open_provider


def main() -> None:
    kind, image = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        provider = open_provider(kind, run="rootless")
        found = run_conformance(provider, image, Path(folder))
        provider.close()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
