"""A guest's sentence cut into pieces: how many, which size, the words that name something, and the changes asked for.

Nothing here knows the menu: it knows numbers, sizes, politeness and how English joins things. Plain classes, here and
beside it: importing dataclasses would double what every start of the agent costs.
"""

import re

NUMBERS = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12,
}  # fmt: skip
SIZES = {"small": "small", "medium": "medium", "regular": "medium", "large": "large"}
ARTICLES = {"a", "an", "the", "some", "another"}
CHANGES = {"with", "without", "no", "hold", "minus", "extra", "add", "light", "easy", "double", "more"}
QUESTIONS = {
    "what", "whats", "when", "where", "who", "why", "how", "hows", "which", "is", "are", "do", "does", "did", "will",
}  # fmt: skip
ORDERING = {"id", "ill", "gimme", "lemme", "give", "order", "take"}
FILLERS = {
    "hi", "hello", "hey", "yo", "there", "good", "morning", "afternoon", "please", "thanks", "thank", "you", "uh",
    "um", "er", "okay", "ok", "so", "yeah", "yes", "can", "could", "may", "might", "i", "im", "we", "id", "ill",
    "wed", "us", "me", "get", "grab", "have", "like", "want", "wanna", "need", "take", "do", "let", "lets",
    "lemme", "gimme", "give", "order", "just", "also", "maybe", "actually", "and", "then", "now", "for", "today",
    "my", "of", "them", "those", "these", "that", "thats", "this", "it", "its", "all", "will", "be", "make",
    "real", "quick", "kind", "start", "to", "go", "love", "would", "about", "how", "try", "gonna", "going", "on",
    "here", "looking", "feel",
}  # fmt: skip
_REPLACED = (
    (r"[\u2018\u2019]", "'"),
    (r"\bo'(?=\s)", "of"),
    (r"'", ""),
    (r"\bn\b|&|\bplus\b|\bas well as\b|\balong with\b", " and "),
    (r"\bhalf (?:a )?dozen\b", " 6 "),
    (r"\b(?:a )?dozen\b", " 12 "),
    (r"\b(?:a )?(?:couple(?: of)?|coupla|pair of)\b", " 2 "),
    (r"\b(\d+)\s*x\b|\bx\s*(\d+)\b", r" \1\2 "),
    (r"-", " "),
    (r"(^|[.!?])\s*well\b,?", r"\1 "),
)


class Piece:
    """What stands between two joints of a sentence."""

    def __init__(self, joint: str) -> None:
        self.joint = joint
        """What came before it: "," or "and"; "." for the first of a sentence."""
        self.counted = False
        """It has an article, a number or a size of its own: it begins something new."""
        self.quantity: int | None = None
        self.size: str | None = None
        self.words: list[str] = []
        self.changes: list[list[str]] = []


def sentences_of(message: str) -> list[tuple[str, bool]]:
    """(sentence, whether it asks for information) in order, in plain lower-case words."""
    text = message.lower()
    for pattern, plain in _REPLACED:
        text = re.sub(pattern, plain, text)
    return [(sentence.strip(), _asks(sentence)) for sentence in re.split(r"[.!?;]+", text) if sentence.strip()]


def question_words(sentence: str) -> list[str]:
    """What a question is about: its words without those that only make it a question, and without sizes."""
    idle = FILLERS | QUESTIONS | ARTICLES | SIZES.keys() | {"much", "many", "cost", "price", "any", "sell", "serve"}
    return [word for word in re.findall(r"[a-z0-9]+", sentence) if word not in idle]


def size_in(sentence: str) -> str | None:
    """The first size that a sentence names."""
    return next((SIZES[word] for word in sentence.split() if word in SIZES), None)


def pieces_of(sentence: str) -> list[Piece]:
    """The pieces of an ordering sentence that say something."""
    parts = re.split(r"\s*(,\s*(?:and\b)?|\band\b)\s*", sentence)
    found = [_piece(".", parts[0])]
    for joint, text in zip(parts[1::2], parts[2::2], strict=True):
        found.append(_piece("," if joint.startswith(",") else "and", text))
    return [piece for piece in found if piece.words or piece.changes or piece.size or piece.quantity]


def _asks(sentence: str) -> bool:
    words = re.findall(r"[a-z0-9]+", sentence)
    while words and words[0] in {"hi", "hello", "hey", "so", "um", "uh", "okay", "ok", "and", "good", "morning"}:
        words.pop(0)
    return bool(words) and words[0] in QUESTIONS and not ORDERING & set(words) and words[:2] != ["how", "about"]


def _piece(joint: str, text: str) -> Piece:
    piece = Piece(joint)
    phrase = piece.words
    for word in re.findall(r"[a-z0-9]+", text):
        if word in CHANGES and not _continues(phrase, piece):
            phrase = []
            piece.changes.append(phrase)
        if piece.changes and word not in ARTICLES and word not in FILLERS:
            phrase.append(word)
        elif not piece.changes:
            _read(piece, word)
    piece.changes = [change for change in piece.changes if not CHANGES.issuperset(change)]
    return piece


def _continues(phrase: list[str], piece: Piece) -> bool:
    """Whether a change word only goes on with the change before it, as in "with extra" or "with no"."""
    return bool(piece.changes) and phrase == ["with"]


def _read(piece: Piece, word: str) -> None:
    if word in ARTICLES:
        piece.counted = True
    elif word in NUMBERS or word.isdigit():
        piece.quantity = NUMBERS.get(word) or max(1, min(int(word), 50))
        piece.counted = True
    elif word in SIZES:
        piece.size = SIZES[word]
        piece.counted = True
    elif word not in FILLERS:
        piece.words.append(word)
