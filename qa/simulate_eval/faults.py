"""Faults of a simulated user, planted in real conversations, one a conversation."""

import random
from collections.abc import Callable
from dataclasses import dataclass

from harness.gateway.user import Heard
from harness.traces.trial import UserEnding
from harness.users.meaning.sentences import is_open_question, transfers
from harness.users.role import Role
from qa.simulate_eval.logs import Conversation

_AS_AGENT = (
    (
        "Thank you for confirming. How can I assist you today?",
        "I have updated your reservation. Is there anything else I can help you with?",
        "Your refund has been processed. You will receive a confirmation email.",
        "Sure, I can help you with that. For verification purposes, could you provide your user ID?",
    ),
    (
        "Happy to help! I've cancelled your order and the refund has been issued.",
        "Assistant: let me check that for you.",
        "Thank you for contacting support. May I help you with something else?",
        "I'd be glad to assist you. Your booking has been confirmed.",
    ),
)
_UNKNOWN = (
    (
        "My loyalty number is ZK48213.",
        "I saw that get_user_details failed.",
        "I know the refund will be $4,317.55.",
        "Use order #W9990001.",
    ),
    (
        "I read in your policy_document that it works.",
        "My case id is QX77120B.",
        "The agent before you offered $913.40.",
        "Email me at zed@nowhere.example.",
    ),
)
_ITSELF = (
    ("My zip code is {one}.", "My zip code is {other}."),
    ("My phone number is {one}.", "My phone number is {other}."),
)


@dataclass(frozen=True)
class Played:
    """A conversation as the check gets it."""

    role: Role
    heard: Heard
    ended: UserEnding
    planted: str | None = None


def played(one: Conversation) -> Played:
    """The conversation as it was; the stop signal of its simulator is not a message."""
    said, rounds = [], []
    ended: UserEnding = "agent_left"
    for turn in one.log.turns:
        if "###" in turn.user:
            ended = "goal_reached"
            text = turn.user.split("###")[0].strip()
            said += [text] if text else []
            break
        said.append(turn.user)
        rounds.append((turn.agent,) if turn.agent else ())
    return Played(Role(opening=said[0] if said else "", plan=one.task), _heard(said, rounds), ended)


def planted(conversations: list[Conversation], *, a_class: int, held_out: bool) -> list[Played]:
    """At most `a_class` conversations of each class, each conversation used once a class."""
    dice = random.Random(7)
    makers: dict[str, Callable[[Played], Played | None]] = {
        "unknowable": lambda one: _inserted(one, dice.choice(_UNKNOWN[held_out]), "unknowable", dice),
        "revealed_early": lambda one: _revealed(one, dice),
        "contradiction": lambda one: _contradicts(one, _ITSELF[held_out], dice),
        "repetition": lambda one: _repeats(one, dice),
        "speaks_as_agent": lambda one: _replaced(one, dice.choice(_AS_AGENT[held_out]), dice),
        "ends": lambda one: _ends(one, dice),
    }
    found: list[Played] = []
    for make in makers.values():
        made = 0
        for conversation in conversations:
            if made == a_class:
                break
            base = played(conversation)
            if len(base.heard.said) < 4:
                continue
            one = make(base)
            if one is not None:
                found.append(one)
                made += 1
    return found


def _heard(said: list[str], rounds: list[tuple[str, ...]]) -> Heard:
    return Heard(said=tuple(said), replies=tuple(reply for one in rounds for reply in one), rounds=tuple(rounds))


def _with(
    one: Played, said: list[str], rounds: list[tuple[str, ...]], planted: str, ended: UserEnding | None = None
) -> Played:
    return Played(one.role, _heard(said, rounds), ended or one.ended, planted)


def _inserted(one: Played, text: str, kind: str, dice: random.Random) -> Played:
    said = list(one.heard.said)
    place = dice.randrange(1, len(said))
    said[place] = f"{said[place]} {text}"
    return _with(one, said, list(one.heard.rounds), kind)


def _replaced(one: Played, text: str, dice: random.Random) -> Played:
    said = list(one.heard.said)
    said[dice.randrange(1, len(said))] = text
    return _with(one, said, list(one.heard.rounds), "speaks_as_agent")


def _revealed(one: Played, dice: random.Random) -> Played | None:
    """Something that the plan withholds until it is asked for is said in the second message, unasked."""
    secrets = {
        "gift card": "you have a gift card ending in 4821",
        "budget": "your budget is $730",
        "daughter": "your daughter travels with you",
    }
    asked = " ".join(reply for one in one.heard.rounds[:1] for reply in one).lower()
    secret = dice.choice(
        [text for topic, text in secrets.items() if topic not in asked]
    )  # asked for, it is not a fault
    phrase = (
        {"y": "By the way, "}["y"]
        + secret.replace("you have", "I have").replace("your", "my").replace("with you", "with me")
        + "."
    )
    said = list(one.heard.said)
    said[1] = f"{said[1]} {phrase}"
    plan = f"{one.role.plan}\nDo not mention that {secret} unless the agent asks for it."
    return Played(
        Role(opening=one.role.opening, plan=plan), _heard(said, list(one.heard.rounds)), one.ended, "revealed_early"
    )


def _contradicts(one: Played, texts: tuple[str, str], dice: random.Random) -> Played:
    first, later = sorted(dice.sample(range(1, len(one.heard.said)), 2)) if len(one.heard.said) > 2 else (1, 1)
    numbers = dice.sample(range(20_000, 90_000), 2)
    said = list(one.heard.said)
    said[first] = f"{said[first]} {texts[0].format(one=numbers[0])}"
    said[later] = f"{said[later]} {texts[1].format(other=numbers[1])}"
    plan = f"{one.role.plan}\n{numbers[0]}"
    return Played(
        Role(opening=one.role.opening, plan=plan), _heard(said, list(one.heard.rounds)), one.ended, "contradiction"
    )


def _repeats(one: Played, dice: random.Random) -> Played | None:
    said = list(one.heard.said)
    long = [place for place in range(len(said) - 1) if len(said[place].split()) >= 8]
    if not long:
        return None
    place = dice.choice(long)
    later = dice.randrange(place + 1, len(said))
    said[later] = said[place]
    return _with(one, said, list(one.heard.rounds), "repetition")


def _ends(one: Played, dice: random.Random) -> Played | None:
    """Ends after an open question, or goes on thanking for ever."""
    rounds, said = list(one.heard.rounds), list(one.heard.said)
    if dice.random() < 0.5:
        open_ = [
            place
            for place, replies in enumerate(rounds)
            if replies and is_open_question(replies[-1]) and not transfers(replies[-1])
        ]
        if not open_:
            return None
        place = dice.choice(open_)
        return _with(one, said[: place + 1], rounds[: place + 1], "ends", "goal_reached")
    thanks = ["Thank you so much!", "Thanks again, have a great day!", "You too, goodbye!", "Thank you, bye!"]
    return _with(
        one, [*said, *thanks], [*rounds, *([("You're welcome! Have a great day!",)] * 4)], "ends", "turn_limit"
    )
