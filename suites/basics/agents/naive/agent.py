"""An agent that takes the nearest way: in the head, the whole file, no compaction, last week's list, no plan."""

import json
import re

from door import Door

CONTEXT = 4000


def arithmetic(door: Door, task: str) -> str:
    """In the head, from left to right."""
    del door
    numbers = [int(number) for number in re.findall(r"\d+", task)]
    signs = re.findall(r"[*+]", task)
    result = numbers[0]
    for sign, number in zip(signs, numbers[1:], strict=False):
        result = result * number if sign == "*" else result + number
    return f"It is {result}."


def first_line(door: Door, task: str) -> str:
    found = re.search(r"/\S+\.log", task)
    return door.tool("read_whole_file", path=found[0] if found else "").split("\n")[0]


def long_session(door: Door, task: str) -> str:
    """Reads on while its context runs over: what was read first is lost."""
    context = task
    for page in range(1, 13):
        context = (context + door.tool("read_page", page=page)["text"])[-CONTEXT:]
    total = sum(int(found) for found in re.findall(r"takings (\d+)", context))
    return f"The takings of the year are {total}."


def five_items(door: Door, task: str) -> str:
    del task
    counts = door.tool("last_weeks_list")
    door.tool("write_file", path="stock.json", content=json.dumps(counts))
    return f"There are {sum(counts.values())}."


def planned_meeting(door: Door, task: str) -> str:
    people = re.findall(r"\b[A-Z][a-z]{2}\b", re.search(r"for (.*?) at", task)[1])
    fitting = {room: size for room, size in door.tool("list_rooms").items() if size >= len(people)}
    room = min(fitting, key=fitting.get)
    door.tool("book_room", room=room, hour=14)
    door.tool("invite", people=people, room=room, hour=14)
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
