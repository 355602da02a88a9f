"""The desk of a library over HTTP: books, members, loans and holds, all of it in PostgreSQL.

What day it is stands in the database, so that equal histories give equal answers.
"""

import json
import os
import re
import signal
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlsplit

import psycopg2
import psycopg2.extras

MOST_LOANS = 3
BOOKS = """
select b.id, b.title, b.author, b.copies - count(l.id) as available
  from book b left join loan l on l.book_id = b.id
 where b.title ilike %(like)s or b.author ilike %(like)s
 group by b.id order by b.id limit 10
"""
LOANS = """
select l.id, l.book_id, b.title, l.member_id, l.lent_on::text, l.due_on::text
  from loan l join book b on b.id = l.book_id where %(member)s is null or l.member_id = %(member)s order by l.id
"""
LEND = """
insert into loan (book_id, member_id, lent_on, due_on) select %(book)s, %(member)s, day, day + 14 from today
returning id, book_id, member_id, lent_on::text, due_on::text
"""
HOLD = """
insert into hold (book_id, member_id, placed_on) select %(book)s, %(member)s, day from today
returning id, book_id, member_id, placed_on::text
"""


class Refusal(Exception):
    """What the desk does not do: a status, and why."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


class Desk:
    """All that can be asked; each method is one transaction."""

    def __init__(self, place: str) -> None:
        self._database = psycopg2.connect(place)

    def ask(self, method: str, path: str, asked: dict) -> object:
        with self._database, self._database.cursor(cursor_factory=psycopg2.extras.RealDictCursor) as cursor:
            self._cursor = cursor
            for pattern, made in ROUTES[method].items():
                found = re.fullmatch(pattern, path)
                if found:
                    return made(self, asked | {name: int(value) for name, value in found.groupdict().items()})
        raise Refusal(404, f"there is no {method} {path}")

    def health(self, _asked: dict) -> object:
        return {"day": self._one("select day::text from today")["day"]}

    def books(self, asked: dict) -> object:
        return {"books": self._all(BOOKS, like=f"%{asked.get('query', '')}%")}

    def member(self, asked: dict) -> object:
        found = self._member(asked["member"])
        return {**found, "loans": self._all(LOANS, member=found["id"])}

    def loans(self, asked: dict) -> object:
        return {"loans": self._all(LOANS, member=asked.get("member"))}

    def lend(self, asked: dict) -> object:
        member, book = self._member(asked["member_id"]), self._book(asked["book_id"])
        if member["blocked"]:
            raise Refusal(409, f"{member['name']} is blocked")
        if len(self._all(LOANS, member=member["id"])) >= MOST_LOANS:
            raise Refusal(409, f"{member['name']} has {MOST_LOANS} loans already")
        if book["available"] < 1:
            raise Refusal(409, f"no copy of {book['title']!r} is available")
        return self._one(LEND, book=book["id"], member=member["id"])

    def give_back(self, asked: dict) -> object:
        loan = asked["loan"]
        returned = self._one("delete from loan where id = %(loan)s returning id, book_id, member_id", loan=loan)
        if returned is None:
            raise Refusal(404, f"there is no loan {loan}")
        return returned

    def hold(self, asked: dict) -> object:
        member, book = self._member(asked["member_id"]), self._book(asked["book_id"])
        return self._one(HOLD, book=book["id"], member=member["id"])

    def _member(self, member: int) -> dict:
        found = self._one("select id, name, blocked from member where id = %(member)s", member=member)
        if found is None:
            raise Refusal(404, f"there is no member {member}")
        return found

    def _book(self, book: int) -> dict:
        found = self._one(BOOKS.replace("b.title ilike %(like)s or b.author ilike %(like)s", "b.id = %(id)s"), id=book)
        if found is None:
            raise Refusal(404, f"there is no book {book}")
        return found

    def _all(self, query: str, **values: object) -> list[dict]:
        self._cursor.execute(query, values)
        return [dict(row) for row in self._cursor.fetchall()]

    def _one(self, query: str, **values: object) -> dict | None:
        return next(iter(self._all(query, **values)), None)


ROUTES = {
    "GET": {
        "/health": Desk.health,
        "/books": Desk.books,
        r"/members/(?P<member>\d+)": Desk.member,
        "/loans": Desk.loans,
    },
    "POST": {"/loans": Desk.lend, "/holds": Desk.hold},
    "DELETE": {r"/loans/(?P<loan>\d+)": Desk.give_back},
}


class Handler(BaseHTTPRequestHandler):
    """One request: JSON in, JSON out."""

    desk: Desk
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        try:
            body = json.loads(self.rfile.read(length) or b"{}")
            query = {name: values[-1] for name, values in parse_qs(url.query).items()}
            status, answer = 200, self.desk.ask(self.command, url.path, {**query, **body})
        except Refusal as refusal:
            status, answer = refusal.status, {"error": str(refusal)}
        except (KeyError, ValueError) as error:
            status, answer = 400, {"error": f"{type(error).__name__}: {error}"}
        content = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_DELETE = do_GET

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: what crosses is in the harness's trace."""


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    Handler.desk = Desk(os.environ["DATABASE"])
    server = HTTPServer(("0.0.0.0", 8000), Handler)
    print("the desk is open", flush=True)
    server.serve_forever()
