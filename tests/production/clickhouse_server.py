"""ClickHouse's HTTP interface over chdb, as a program: `python -m tests.production.clickhouse_server FOLDER PORT`.

What clickhouse-connect sends is executed by ClickHouse's own engine; only the protocol around it is of these lines. It
is stopped and started again by tests.
"""

import re
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

_FORMAT = re.compile(r"\bFORMAT\s+(\w+)\s*;?\s*$", re.IGNORECASE)


class Engine:
    """One query at a time."""

    def __init__(self, folder: str) -> None:
        import chdb

        self._connection = chdb.connect(folder)
        self._lock = threading.Lock()

    def answer(self, query: str, data: bytes, values: dict[str, str]) -> bytes:
        found = _FORMAT.search(query)
        form = found[1] if found else "TabSeparated"
        plain = query[: found.start()] if found else query
        with self._lock, tempfile.NamedTemporaryFile(suffix=".native") as file:
            if data:
                Path(file.name).write_bytes(data)
                plain = f"{plain} FROM INFILE '{file.name}' FORMAT {form}"
            return bytes(self._connection.query(plain, form, params=values).bytes())


def serve(folder: str, port: int) -> None:
    engine = Engine(folder)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = opened(self._whole(), self.headers.get("Content-Encoding"))
            told = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
            query, data = split(told.get("query"), body)
            values = {name[6:]: value for name, value in told.items() if name.startswith("param_")}
            try:
                status, answer = 200, engine.answer(query, data, values)
            except RuntimeError as error:
                status, answer = 500, str(error).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer)))
            self.send_header("X-ClickHouse-Format", "Native")
            self.end_headers()
            self.wfile.write(answer)

        do_GET = do_POST

        def _whole(self) -> bytes:
            if "chunked" not in str(self.headers.get("Transfer-Encoding")):
                return self.rfile.read(int(self.headers.get("Content-Length", 0)))
            chunks: list[bytes] = []
            while size := int(self.rfile.readline(), 16):
                chunks.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(chunks)

        def log_message(self, format: str, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        print(server.server_address[1], flush=True)
        server.serve_forever()


def split(query: str | None, body: bytes) -> tuple[str, bytes]:
    """The statement and what it inserts, which follows it on the next line."""
    if query is not None:
        return query, body
    head, _, rest = body.partition(b"\n") if body.startswith(b"INSERT") else (body, b"", b"")
    return head.decode(), rest


def opened(body: bytes, encoding: str | None) -> bytes:
    match encoding:
        case "lz4":
            import lz4.frame

            return bytes(lz4.frame.decompress(body))
        case "zstd":
            from backports import zstd

            return zstd.decompress(body)
        case _:
            return body


if __name__ == "__main__":
    serve(sys.argv[1], int(sys.argv[2]))
