"""An agent that goes about each task as it was asked: by the tool, in small parts, in full, and with a plan."""

import json
import re

from door import Door

CONTEXT = 4000


def arithmetic(door: Door, task: str) -> str:
    found = re.search(r"\d[\d\s+*/().-]*\d", task)
    result = door.tool("calculator", expression=found[0] if found else "0")
    return f"It is {result:g}."


def first_line(door: Door, task: str) -> str:
    found = re.search(r"/\S+\.log", task)
    part = door.tool("read_lines", path=found[0] if found else "", first=1, count=1)
    return part["lines"][0]


def long_session(door: Door, task: str) -> str:
    """Sums while it reads; before a page would no longer fit, all that was read is cut down to the sum."""
    context, total = task, 0
    for page in range(1, 13):
        if len(context) > CONTEXT - 1000:
            context = f"pages 1 to {page - 1}: {total}"
            door.tool("compaction", summary=context)
        text = door.tool("read_page", page=page)["text"]
        context += text
        total += int(re.search(r"takings (\d+)", text)[1])
    return f"The takings of the year are {total}."


def five_items(door: Door, task: str) -> str:
    items = re.search(r"Count the (.*?) that", task)[1].replace(" and ", ", ").split(", ")
    counts = {item: door.tool("count_item", item=item)["count"] for item in items}
    door.tool("write_file", path="stock.json", content=json.dumps(counts))
    return f"There are {sum(counts.values())}."


def planned_meeting(door: Door, task: str) -> str:
    door.tool("plan_create", steps=["list the rooms", "book the smallest that fits", "invite everybody"])
    people = re.findall(r"\b[A-Z][a-z]{2}\b", re.search(r"for (.*?) at", task)[1])
    hour = int(re.search(r"at (\d+) o'clock", task)[1])
    fitting = {room: size for room, size in door.tool("list_rooms").items() if size >= len(people)}
    room = min(fitting, key=fitting.get)
    door.tool("book_room", room=room, hour=hour)
    door.tool("invite", people=people, room=room, hour=hour)
    return f"You meet in {room}."


SKILLS = {
    "calculator": arithmetic,
    "first line": first_line,
    "day book": long_session,
    "shelf": five_items,
    "plan": planned_meeting,
}


def main() -> None:
    door = Door()
    task = door.task()
    skill = next(skill for words, skill in SKILLS.items() if words in task)
    door.reply(skill(door, task))


if __name__ == "__main__":
    main()
