"""What judges and tools say about a planted cause, in other words each time. {x} is a value of the session."""

from typing import Final

Wordings = dict[str, tuple[str, ...]]

TUNED: Final[Wordings] = {
    "rude": (
        "The agent's tone is rude: it tells the user to stop asking and insults them.",
        "Rude wording. The reply about {x} insults the user instead of helping.",
        "The agent is impolite and dismissive; it calls the user's question stupid.",
        "An insulting, rude tone towards the user in the reply about {x}.",
        "The reply is dismissive and rude to the user.",
    ),
    "other_language": (
        "The agent answers in Spanish although the user writes English.",
        "The reply is in another language than the user's: Spanish instead of English.",
        "The user wrote English, and the answer about {x} is in Spanish.",
        "Wrong language: the agent switched to Spanish.",
        "The agent replied in a language that the user did not use (Spanish).",
    ),
    "invented_policy": (
        "The agent states a refund policy that no tool and no document contains.",
        "A 48 hour refund policy is claimed; the policy given to the agent does not say so.",
        "The claimed policy for {x} is invented, nothing in the documents supports it.",
        "The refund policy that the agent quotes is made up.",
        "Unsupported policy: the agent invents a rule about refunds for {x}.",
    ),
    "wrong_sum": (
        "The total of {x} is wrong: the prices that the tool returned add up to another amount.",
        "The agent miscalculates the total price.",
        "Arithmetic error, the amounts returned by the tool do not add up to the stated total.",
        "The stated total amount does not equal the sum of the prices.",
        "The sum is calculated wrongly from the prices for {x}.",
    ),
    "needless_transfer": (
        "The agent transfers the user to a human although it could have solved {x} itself.",
        "Needless transfer to a human agent; the tools allow to do it.",
        "The user was handed over to a human without need.",
        "The conversation about {x} ends in a transfer to human staff that was not needed.",
        "Transferred to a human, though the request was within the agent's tools.",
    ),
    "not_confirmed": (
        "The agent changed the booking without asking the user to confirm.",
        "No confirmation: the change of {x} was carried out before the user said yes.",
        "The user's explicit confirmation is missing before the booking is changed.",
        "The agent did not obtain confirmation before it changed {x}.",
        "It changes the booking without explicit confirmation by the user.",
    ),
    "no_json": (
        "the answer is not JSON: expecting value at line 1",
        "the judge's answer is not a JSON object",
        "expected a JSON object, found text: {x}",
        "not JSON: the answer begins with '{x}'",
        "the answer holds no JSON object",
    ),
}
HELD_OUT: Final[Wordings] = {
    "rude": (
        "It answers the user rudely and with an insult.",
        "The agent snaps at the user; this is a rude tone.",
        "Tone: rude. The user is insulted when asking about {x}.",
        "Not polite at all: the agent insults the user.",
        "The wording towards the user is rude and dismissive.",
    ),
    "other_language": (
        "The answer is written in Spanish, the user speaks English.",
        "Language does not match: Spanish reply to an English message about {x}.",
        "The agent does not keep the user's language and continues in Spanish.",
        "A Spanish answer to an English question.",
        "The user cannot be expected to read Spanish; the conversation is in English.",
    ),
    "invented_policy": (
        "No source supports the refund policy that the agent mentions.",
        "The agent makes up a policy on refunds when it talks about {x}.",
        "There is no such refund policy in the documents.",
        "An invented policy about refunds is presented as a fact.",
        "The policy statement is not supported by any document or tool.",
    ),
    "wrong_sum": (
        "The prices sum to a different total than the agent states.",
        "Wrong total: prices were added up incorrectly.",
        "The total that the agent gives for {x} is not the sum of the prices.",
        "The calculated amount is wrong, compare the prices returned by the tool.",
        "The agent's arithmetic on the prices is wrong.",
    ),
    "needless_transfer": (
        "There was no need to transfer {x} to a human agent.",
        "The agent gives up and transfers the user to a human.",
        "A transfer to a human was not needed here, the tools could do it.",
        "It hands the user over to a human agent too early.",
        "The request was transferred to human staff although tools exist for it.",
    ),
    "not_confirmed": (
        "The booking was changed and the user never confirmed it.",
        "The agent acts before the user's confirmation on {x}.",
        "Confirmation by the user was not obtained before the change.",
        "The change was made without confirmation.",
        "It should have asked the user to confirm the change of the booking first.",
    ),
    "no_json": (
        "the answer cannot be read: it is not JSON",
        "no JSON object in the judge's answer: {x}",
        "the judge answered with text, expected JSON",
        "expecting value: the answer is not JSON",
        "not a JSON object: {x}",
    ),
}
