"""What a user holds back until it is asked for: how a plan says so, how it is asked for, and what reveals it."""

import pytest

from harness.gateway.user import Heard
from harness.users.fidelity.check import checked
from harness.users.role import Role
from harness.values import JsonObject

BUDGET = "Buy snacks. Your budget is $30. Do not mention your budget unless the agent asks for it."
GUESTS = "Order a table. You are 6 people. Only say that you are 6 people if asked."
ALLERGY = "Order a cake. You are allergic to nuts. Keep your allergy to yourself until you are asked about allergies."
ADDRESS = "Order a cake. Do not give your address before you are asked for it."
FRONT = "Order a cake. Only if asked, say that your address is 12 Elm Road."
PROFILE: JsonObject = {"name": "Ann", "address": "12 Elm Road"}
GERMAN = "Bestelle Snacks. Dein Budget beträgt 30 €. Nenne dein Budget erst, wenn du danach gefragt wirst."
GERMAN_NOT = "Bestelle eine Torte. Erwähne deine Nussallergie nicht, bevor du gefragt wirst."
SPANISH = "Pide aperitivos. Tu presupuesto es de 30 €. No menciones tu presupuesto hasta que te pregunten."
SPANISH_ONLY = "Pide una tarta. Di que eres alérgico a las nueces solo si te preguntan."


def found(plan: str, question: str, message: str, profile: JsonObject | None = None) -> list[str]:
    role = Role(opening="Hello.", plan=plan, profile=profile)
    heard = Heard(said=("Hello.", message), replies=(question,), rounds=((question,),))
    return [one.fault for one in checked(role, heard, ended="agent_left")[0]]


@pytest.mark.parametrize(
    ("plan", "question", "message"),
    [
        (BUDGET, "Sure, which snacks?", "I can spend up to 30 dollars."),
        (BUDGET, "It has a price of $4. What is your order number?", "My budget is $30."),  # asks for another number
        (GUESTS, "When?", "Tonight. We are 6 people."),
        (ALLERGY, "Which flavour?", "Chocolate. I am allergic to nuts."),
        (ADDRESS, "Which flavour?", "Chocolate, and bring it to 12 Elm Road."),
        (FRONT, "Which flavour?", "Chocolate, to 12 Elm Road."),
        (GERMAN, "Gern, welche Snacks?", "Mein Budget ist 30 €."),
        (GERMAN_NOT, "Welche Sorte?", "Schokolade. Ich habe eine Nussallergie."),
        (SPANISH, "Claro, ¿cuáles?", "Mi presupuesto es de 30 €."),
        (SPANISH_ONLY, "¿De qué sabor?", "De chocolate. Soy alérgico a las nueces."),
    ],
)
def test_what_is_told_before_it_was_asked_for_is_a_fault(plan: str, question: str, message: str) -> None:
    assert ["revealed_early"] == found(plan, question, message, PROFILE)


@pytest.mark.parametrize(
    ("plan", "question", "message"),
    [
        (BUDGET, "Is there a price limit?", "My budget is $30."),
        (BUDGET, "How much would you like to spend?", "About $30."),
        (BUDGET, "Is there anything I should know before I choose?", "My budget is $30."),
        (BUDGET, "I see a limit of $30 in your profile.", "Yes, $30 is right."),
        (GUESTS, "When?", "At 6 pm, and with 6 chairs."),
        (GUESTS, "For how many?", "6."),
        (ALLERGY, "Do you have any dietary restrictions?", "I am allergic to nuts."),
        (ADDRESS, "Where do you live?", "12 Elm Road."),
        (FRONT, "Where shall we deliver?", "12 Elm Road."),
        (GERMAN, "Wie viel möchten Sie ausgeben?", "Ungefähr 30 Euro."),
        (GERMAN_NOT, "Haben Sie Allergien?", "Ja, eine Nussallergie."),
        (SPANISH, "¿Cuánto quiere gastar?", "Unos 30 euros."),
        (SPANISH_ONLY, "¿Tiene alguna alergia?", "Soy alérgico a las nueces."),
    ],
)
def test_what_was_asked_for_in_other_words_is_none(plan: str, question: str, message: str) -> None:
    assert [] == found(plan, question, message, PROFILE)
