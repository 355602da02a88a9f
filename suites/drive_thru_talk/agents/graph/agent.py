"""Order taker for conversations: a graph of nodes over one state, which loops until nothing is left to do.

    orchestrator -> tools -> update_order -> orchestrator -> ... -> respond

The orchestrator picks the next node for the tasks that the guest's words are read into; `tools` asks the menu;
`update_order` changes the order; `respond` says what came of it and ends the round. The state lives as long as the
conversation.
"""

import os

from door import Door, Refused
from words import Task, tasks_in


class State:
    """What the nodes share."""

    def __init__(self) -> None:
        self.tasks: list[Task] = []
        self.found: dict | None = None
        """What the menu said to the first task."""
        self.order: list[dict] = []
        self.last: dict | None = None
        """The line that "that" means."""
        self.offered: list[dict] = []
        """What the guest usually takes, offered and not yet answered."""
        self.said: list[str] = []
        self.done = False
        """The guest wants nothing more."""
        self.read_back = False
        self.closed = False


class Graph:
    """Serves one guest."""

    def __init__(self, door: Door) -> None:
        self._door = door
        self._state = State()

    def serve(self, message: str) -> str:
        """One round: from the guest's message to the answer."""
        state = self._state
        state.tasks, state.said = tasks_in(message), []
        self._door.think(f"the guest wants: {', '.join(task.kind for task in state.tasks) or 'nothing'}")
        node = self.orchestrator
        while node is not None:
            node = node()
        return " ".join(state.said)

    def orchestrator(self):
        """The next node."""
        state = self._state
        if not state.tasks:
            return self.respond
        task = state.tasks[0]
        if task.kind in {"add", "usual"} and state.found is None:
            return self.tools
        return self.update_order

    def tools(self):
        """Asks about the first task."""
        state = self._state
        task = state.tasks[0]
        state.found = self._door.call(
            "get_reorder_items" if task.kind == "usual" else "lookup_menu_item", task.question
        )
        return self.orchestrator

    def update_order(self):
        """Does the first task, and drops it."""
        state = self._state
        task, found, state.found = state.tasks.pop(0), state.found, None
        try:
            self._do(task, found)
        except Refused as refusal:
            state.said.append(f"I'm sorry: {refusal}.")
        return self.orchestrator

    def _do(self, task: Task, found: dict | None) -> None:
        match task.kind:
            case "add":
                self._add(task, found or {})
            case "usual":
                self._offer(found or {})
            case "remove":
                self._remove(task)
            case "resize":
                self._resize(task)
            case "count":
                self._count(task)
            case "yes":
                self._accept()
            case "no":
                self._refuse()
            case _:
                self._state.done = True

    def respond(self) -> None:
        """Ends the round with a question, or with good-bye."""
        state = self._state
        if state.closed:
            return
        asking = state.said and state.said[-1].endswith("?")
        if state.done and state.order and not asking:
            state.read_back = True
            state.said.append(f"So that is {_listed(state.order)}. Is that right?")
        elif not asking:
            state.said.append(
                "Anything else?" if state.order or state.said else "Good morning! What can I get for you?"
            )

    def _add(self, task: Task, found: dict) -> None:
        fitting = _fitting(found["items"])
        words = " ".join(task.words)
        if not fitting:
            self._state.said.append(f"I'm sorry, we do not have {words}. What would you like instead?")
        elif len(fitting) > 1:
            self._state.said.append(f"Which {words} would you like: {', '.join(item['name'] for item in fitting)}?")
        else:
            self._put(fitting[0]["id"], task.quantity or 1, task.size, [])

    def _put(self, item_id: str, quantity: int, size: str | None, modifiers: list) -> None:
        before = {_place(line): line["quantity"] for line in self._state.order}
        asked = {"item_id": item_id, "quantity": quantity, "size": size, "modifiers": modifiers}
        self._keep(self._door.call("add_item_to_order", {name: value for name, value in asked.items() if value}))
        line = next(one for one in self._state.order if before.get(_place(one)) != one["quantity"])
        self._state.last = line
        self._state.said.append(f"{_named(line)}.")

    def _offer(self, found: dict) -> None:
        self._state.offered = found["items"]
        if found["items"]:
            self._state.said.append(f"That would be {_listed(found['items'])}. Shall I put that on the order?")
        else:
            self._state.said.append("I'm sorry, I do not know what you usually take. What would you like?")

    def _accept(self) -> None:
        state = self._state
        if state.offered:
            for item in state.offered:
                hits = self._door.call("lookup_menu_item", {"query": item["name"].lower()})["items"]
                if any(hit["id"] == item["item_id"] for hit in hits):
                    self._put(item["item_id"], item["quantity"], item["size"], item["modifiers"])
            state.offered = []
        elif state.read_back and not state.closed:
            total = self._door.call("finalize_order", {})["total_cents"]
            state.closed = True
            state.said.append(f"Thank you! Your total is {total / 100:.2f}. Please drive up to the window.")

    def _refuse(self) -> None:
        self._state.offered = []
        if self._state.read_back:
            self._state.read_back = False
        else:
            self._state.done = True

    def _remove(self, task: Task) -> None:
        line = self._meant(task.words)
        if line is None:
            self._state.said.append(f"There is no {' '.join(task.words)} on your order.")
            return
        self._set(line, 0)
        self._state.said.append(f"No {line['name']} then.")

    def _resize(self, task: Task) -> None:
        line = self._meant(task.words)
        if line is None:
            self._state.said.append("What would you like in that size?")
            return
        self._set(line, 0)
        try:
            self._put(line["item_id"], task.quantity or line["quantity"], task.size, line["modifiers"])
        except Refused:
            self._put(line["item_id"], line["quantity"], line["size"], line["modifiers"])
            raise

    def _count(self, task: Task) -> None:
        line = self._meant(task.words)
        if line is None:
            self._state.tasks.insert(0, Task("add", task.words, task.quantity, task.size))
            return
        self._set(line, task.quantity)
        self._state.said.append(f"{task.quantity} {line['name']}.")

    def _meant(self, words: list[str]) -> dict | None:
        """The line that the words name; no words: the last one."""
        if not words:
            return self._state.last
        wanted = set(_stems(words))
        fitting = [line for line in self._state.order if wanted <= set(_stems(line["name"].lower().split()))]
        return fitting[-1] if fitting else None

    def _set(self, line: dict, quantity: int) -> None:
        place = {name: line[name] for name in ("item_id", "size", "modifiers") if line[name]}
        self._keep(self._door.call("change_order_item", {**place, "quantity": quantity}))

    def _keep(self, order: dict) -> None:
        self._state.order = order["items"]


def _fitting(items: list[dict]) -> list[dict]:
    """The items that account for all the words, the better kind of match only."""
    for match in ("exact", "all_words", "named"):
        found = [item for item in items if item["match"] == match and not item["unmatched_words"]]
        if found:
            return found
    return []


def _place(line: dict) -> tuple:
    return line["item_id"], line["size"], tuple(line["modifiers"])


def _named(line: dict) -> str:
    size = [line["size"]] if line["size"] else []
    changes = [f"with {' and '.join(line['modifiers'])}"] if line["modifiers"] else []
    return " ".join([str(line["quantity"]), *size, line["name"], *changes])


def _listed(lines: list[dict]) -> str:
    return ", ".join(_named(line) for line in lines)


def _stems(words: list[str]) -> list[str]:
    return [word[:-1] if len(word) > 3 and word.endswith("s") else word for word in words]


def main() -> None:
    door = Door(os.environ["HARNESS_GATEWAY_URL"])
    graph = Graph(door)
    for message in door.turns():
        try:
            door.reply(graph.serve(message))
        except Refused as refusal:
            door.reply(f"I'm sorry, something is wrong with the menu: {refusal}.")


if __name__ == "__main__":
    main()
