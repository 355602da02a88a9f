"""Serves one member at the desk: looks before it acts, and does no more than was asked."""

import re

from desk import ask, call

LEND = re.compile(r"member (\d+) would like to borrow ([^.;]+)", re.IGNORECASE)
BACK = re.compile(r"member (\d+) brings back ([^.;]+)", re.IGNORECASE)


def serve(task: str) -> str:
    if wish := LEND.search(task):
        return lend(int(wish[1]), wish[2].strip(), keep="keep the next" in task)
    if wish := BACK.search(task):
        return take_back(int(wish[1]), wish[2].strip())
    return "I did not understand that."


def lend(member_id: int, title: str, keep: bool) -> str:
    member = call("get_member", member_id=member_id)
    if member.get("blocked"):
        return f"Sorry, {member['name']} is blocked."
    book = next((book for book in call("find_books", query=title)["books"] if book["title"] == title), None)
    if book is None:
        return f"We have no book {title!r}."
    if book["available"]:
        loan = call("lend_book", book_id=book["id"], member_id=member_id)
        return f"Here is {title}, due on {loan['due_on']}."
    if keep:
        call("place_hold", book_id=book["id"], member_id=member_id)
        return f"{title} is lent; the next copy is kept for {member['name']}."
    return f"All copies of {title} are lent."


def take_back(member_id: int, title: str) -> str:
    member = call("get_member", member_id=member_id)
    loan = next((loan for loan in member["loans"] if loan["title"] == title), None)
    if loan is None:
        return f"{member['name']} has not borrowed {title}."
    call("return_book", loan_id=loan["id"])
    return f"Thank you, {title} is back."


ask("POST", "/reply", {"message": serve(ask("GET", "/turn")["message"])})
