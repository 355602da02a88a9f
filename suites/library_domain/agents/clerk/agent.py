"""Serves members at the desk by its policy. A program with rules, in the place of a model that is given the policy."""

import json
import os
import re
import urllib.error
import urllib.request
from pathlib import Path

URL = os.environ["HARNESS_GATEWAY_URL"]
POLICY = Path(__file__).with_name(os.environ.get("POLICY", "policy.md")).read_text(encoding="utf-8")
MOST_LOANS = re.compile(r"at most (\d+) loans")
BORROW = re.compile(r"member (\d+) would like to borrow ([^.]+)", re.IGNORECASE)
BACK = re.compile(r"member (\d+) brings back ([^.]+)", re.IGNORECASE)


def ask(method: str, path: str, body: object = None) -> dict:
    sent = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(URL + path, sent, {"Content-Type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            return json.loads(answer.read() or b"{}")
    except urllib.error.HTTPError as error:
        return json.loads(error.read() or b"{}")


def call(tool: str, **arguments: object) -> dict:
    return ask("POST", f"/tools/{tool}", arguments)


def serve(task: str) -> str:
    done = [take_back(int(number), title.strip()) for number, title in BACK.findall(task)]
    for number, titles in BORROW.findall(task):
        done += [lend(int(number), title.strip()) for title in reversed(titles.split(" and "))]
    return " ".join(done) or "I did not understand that."


def lend(member_id: int, title: str) -> str:
    member = call("get_member", member_id=member_id)
    if member["blocked"]:
        return f"Sorry, {member['name']} is blocked."
    book = next((book for book in call("find_books", query=title)["books"] if book["title"] == title), None)
    if book is None:
        return f"We have no book {title!r}."
    most = MOST_LOANS.search(POLICY)
    if not book["available"] or (most is not None and len(member["loans"]) >= int(most[1])):
        call("place_hold", book_id=book["id"], member_id=member_id)
        return f"The next copy of {title} is kept for {member['name']}."
    loan = call("lend_book", book_id=book["id"], member_id=member_id)
    return f"Here is {title}, due on {loan['due_on']}."


def take_back(member_id: int, title: str) -> str:
    member = call("get_member", member_id=member_id)
    loan = next((loan for loan in member["loans"] if loan["title"] == title), None)
    if loan is None:
        return f"{member['name']} has not borrowed {title}."
    call("return_book", loan_id=loan["id"])
    return f"Thank you, {title} is back."


ask("POST", "/reply", {"message": serve(ask("GET", "/turn")["message"])})
