"""`python3 -m grocery_service --port 8000 --seed grocery.sql` serves; with `--dump` it prints the state being served.

The dump is read from the database file, so it needs the `--database` (or GROCERY_DATABASE) that the server was given.
"""

import argparse
import os
import signal
import sys
from pathlib import Path

from grocery_service.dump import canonical_dump
from grocery_service.store import Store


def main() -> int:
    options = _options()
    if options.dump:
        return _dump(options.database)
    if options.seed is None:
        print("grocery_service: --seed (or GROCERY_SEED) names the SQL to start from", file=sys.stderr)
        return 2
    # Loaded only to serve: a dump needs no HTTP.
    from grocery_service.api import GroceryServer

    # As the first process of a container it would otherwise ignore this signal, and stopping would wait for the kill.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    store = Store(options.database, Path(options.seed).read_text(encoding="utf-8"))
    server = GroceryServer(options.host, options.port, store)
    print(f"grocery_service listens on http://{options.host}:{server.server_port}", flush=True)
    try:
        server.serve_forever(poll_interval=60)
    except KeyboardInterrupt:
        return 130
    finally:
        server.server_close()
        store.close()
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="grocery_service", description="Grocery stores and carts over HTTP.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=8000, help="0: any free port, printed at the start")
    parser.add_argument("--seed", default=os.environ.get("GROCERY_SEED"), help="SQL of the state to start from")
    parser.add_argument("--database", default=os.environ.get("GROCERY_DATABASE", ":memory:"), help="file for the state")
    parser.add_argument("--dump", action="store_true", help="print the state of --database as canonical SQL")
    return parser.parse_args()


def _dump(database: str) -> int:
    if not Path(database).is_file():
        print(f"grocery_service: there is no database file {database!r} to dump", file=sys.stderr)
        return 2
    for statement in canonical_dump(Path(database)):
        print(statement)
    return 0


if __name__ == "__main__":
    sys.exit(main())
