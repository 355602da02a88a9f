"""`python -m tests.suites.frameworks.model_server [PORT] [LOG]`: the model for recording by hand, until stopped."""

import sys
from pathlib import Path

from tests.suites.frameworks.model_server.server import ModelServer

PORT = 18231
"""Where `suites/frameworks/suite.yaml` looks for it."""

if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else PORT
    with ModelServer(port, Path(sys.argv[2]) if len(sys.argv) > 2 else None) as server:
        print(server.base_url, flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print("stopped")
