"""The tools of the five tasks: pure functions, so that a recording made again is the same."""

import ast
import operator
from typing import Any

_OPERATORS: dict[type[ast.AST], Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.USub: operator.neg,
}
_LOG = ["2026-03-01T06:00:00Z gateway started, build 4711"] + [
    f"2026-03-01T06:{second // 60:02d}:{second % 60:02d}Z request {second} served in {second % 17 + 3} ms"
    for second in range(1, 400)
]
_FILES = {"/docs/gateway.log": _LOG}
_STOCK = {"apples": 12, "bananas": 7, "cherries": 240, "dates": 31, "elderberries": 5}
_LAST_WEEK = {**_STOCK, "cherries": 260, "elderberries": 0}
_TAKINGS = [118, 95, 131, 240, 77, 163, 204, 89, 152, 176, 143, 212]
_ROOMS = {"amber": 4, "birch": 8, "cedar": 20}


def calculator(expression: str) -> float:
    """The value of an expression of numbers, + - * / and brackets."""
    return float(_value(ast.parse(expression, mode="eval").body))


def read_lines(path: str, first: int = 1, count: int = 10) -> dict[str, Any]:
    """A part of a file: at most 50 lines, counted from 1."""
    lines = _lines(path)
    shown = lines[first - 1 : first - 1 + min(count, 50)]
    return {"path": path, "first": first, "lines": shown, "of": len(lines)}


def read_whole_file(path: str) -> str:
    """All of a file, however long it is."""
    return "\n".join(_lines(path))


def read_page(page: int) -> dict[str, Any]:
    """One page of the day book, 1 to 12: the month's takings, and what else was written down."""
    if not 1 <= page <= len(_TAKINGS):
        raise ValueError(f"there is no page {page}")
    chatter = " ".join(f"Customer {number} asked about the weather." for number in range(page * 10, page * 10 + 20))
    return {"page": page, "text": f"Month {page}: takings {_TAKINGS[page - 1]}. {chatter}"}


def compaction(summary: str) -> dict[str, int]:
    """Replaces everything read so far by a summary, and so makes room for more."""
    return {"kept_characters": len(summary)}


def count_item(item: str) -> dict[str, Any]:
    """Counts one item on the shelf: slow, and right."""
    if item not in _STOCK:
        raise ValueError(f"there are no {item}")
    return {"item": item, "count": _STOCK[item]}


def last_weeks_list() -> dict[str, int]:
    """All items at once, as they were counted last week."""
    return dict(_LAST_WEEK)


def plan_create(steps: list[str]) -> dict[str, int]:
    """States a plan before it is carried out."""
    return {"steps": len(steps)}


def list_rooms() -> dict[str, int]:
    """The rooms, and how many people each holds."""
    return dict(_ROOMS)


def book_room(room: str, hour: int) -> dict[str, Any]:
    """Books a room for an hour of the day."""
    if room not in _ROOMS:
        raise ValueError(f"there is no room {room!r}")
    return {"room": room, "hour": hour, "booked": True}


def invite(people: list[str], room: str, hour: int) -> dict[str, Any]:
    """Invites people to a room that was booked."""
    if len(people) > _ROOMS.get(room, 0):
        raise ValueError(f"{room} does not hold {len(people)} people")
    return {"invited": people, "room": room, "hour": hour}


def _lines(path: str) -> list[str]:
    if path not in _FILES:
        raise FileNotFoundError(f"there is no file {path}")
    return _FILES[path]


def _value(node: ast.AST) -> float:
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return float(_OPERATORS[type(op)](_value(left), _value(right)))
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _OPERATORS:
            return float(_OPERATORS[type(op)](_value(operand)))
        case _:
            raise ValueError("only numbers, + - * / and brackets")
