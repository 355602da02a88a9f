"""The guest's words as tasks: what to add, to take off, to change, and whether that is all."""

import re

NUMBERS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "dozen": 12}
SIZES = {"small": "small", "medium": "medium", "large": "large", "regular": "medium", "big": "large"}
_FILLERS = """
    hi hello hey good morning can could i get have like id ill would want please just some the then instead okay ok oh
    actually also and to my of with for me us well sure thanks thank you today it that them no yes one ones order
"""
FILLERS = set(_FILLERS.split())
DONE = re.compile(r"\b(that is (all|it|everything)|nothing else|i am done|all for today|no thanks?)\b")
YES = re.compile(r"^(yes|yeah|yep|sure|correct|right|that is (right|correct)|sounds good|looks good)\b")
NO = re.compile(r"^(no|nope)\b")
REMOVE = re.compile(r"\b(take off|take away|remove|cancel|drop|leave off|without)\b")
CHANGE = re.compile(r"\b(make (that|it|the|them)|change (that|it|the|them))\b")
USUAL = re.compile(r"\b(the|my) usual\b|\bsame as (always|last time)\b")


class Task:
    """One thing to do."""

    def __init__(self, kind: str, words: list[str] | None = None, quantity: int | None = None, size: str | None = None):
        self.kind = kind
        self.words = words or []
        self.quantity = quantity
        self.size = size

    @property
    def question(self) -> dict:
        """What to ask the tool about it."""
        return {} if self.kind == "usual" else {"query": " ".join(self.words)}


def tasks_in(message: str) -> list[Task]:
    """The tasks in the order in which they are said; "that's all" comes last."""
    text = message.lower().replace("\u2019", "'").replace("that's", "that is").replace("i'm", "i am").replace("'", "")
    found: list[Task] = []
    done = DONE.search(text) is not None
    text = re.sub(r"^\s*no[, ]+(?=" + DONE.pattern[2:-2] + ")", "", text)
    text = DONE.sub(" ", text)
    for phrase in re.split(r"[.!?;,]+|\band\b", text):
        task = _task(phrase.strip())
        if task is not None:
            found.append(task)
    return [*found, Task("done")] if done else found


def _task(phrase: str) -> Task | None:
    if USUAL.search(phrase):
        return Task("usual")
    if YES.match(phrase):
        return Task("yes")
    if REMOVE.search(phrase):
        return _read("remove", REMOVE.sub(" ", phrase))
    if CHANGE.search(phrase):
        task = _read("resize", CHANGE.sub(" ", phrase))
        return task if task.size else Task("count", task.words, task.quantity)
    task = _read("add", NO.sub(" ", phrase))
    if task.words:
        return task
    return Task("no") if NO.match(phrase) else None


def _read(kind: str, phrase: str) -> Task:
    task = Task(kind)
    for word in re.findall(r"[a-z0-9]+", phrase):
        if word in SIZES:
            task.size = SIZES[word]
        elif word.isdigit():
            task.quantity = int(word)
        elif word in NUMBERS and task.quantity is None:
            task.quantity = NUMBERS[word]
        elif word not in FILLERS:
            task.words.append(word)
    return task
