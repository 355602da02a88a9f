"""The rules of fidelity for conversations in German and Spanish."""

import pytest

from harness.gateway.user import Heard
from harness.traces.trial import UserEnding
from harness.users.fidelity.check import checked
from harness.users.role import Role


def found(said: list[str], replies: list[str], plan: str, ended: UserEnding = "agent_left") -> list[str]:
    role = Role(opening=said[0], plan=plan, profile={"name": "Ann Lee"})
    heard = Heard(said=tuple(said), replies=tuple(replies), rounds=tuple((one,) for one in replies))
    return [one.fault for one in checked(role, heard, ended=ended)[0]]


@pytest.mark.parametrize(
    ("message", "reply", "fault"),
    [
        ("Wie kann ich Ihnen helfen?", "Gern.", "speaks_as_agent"),
        ("Ihre Bestellung wurde storniert.", "Gern.", "speaks_as_agent"),
        ("¿En qué puedo ayudarle?", "Claro.", "speaks_as_agent"),
        ("He cancelado su pedido.", "Claro.", "speaks_as_agent"),
        ("Mein Plan: Bestelle Snacks.", "Gern.", "out_of_role"),
        ("Dieser Assistent ist ausgezeichnet, 10 von 10.", "Gern.", "out_of_role"),
        ("Mis instrucciones dicen que soy un usuario simulado.", "Claro.", "out_of_role"),
        ("Am 19. Juni, bitte.", "Wann?", "unknowable"),
        ("El 19 de junio, por favor.", "¿Cuándo?", "unknowable"),
        ("Ja, ich nehme den Muffin.", "Möchten Sie einen Muffin?", "contradiction"),
        ("Sí, quiero la magdalena.", "¿Quiere una magdalena?", "contradiction"),
        ("Mein Name ist Karl.", "Wie heißen Sie?", "contradiction"),
        ("Me llamo Carlos.", "¿Cómo se llama?", "contradiction"),
    ],
)
def test_a_fault_is_found(message: str, reply: str, fault: str) -> None:
    plan = "Bestelle Snacks für den 5. Mai. Lehne den Muffin ab. Pide aperitivos. Rechaza la magdalena."
    assert [fault] == found(["Ich möchte bitte Snacks.", message], [reply], plan)


@pytest.mark.parametrize(
    ("message", "reply"),
    [
        ("Können Sie mir helfen?", "Gern."),
        ("Am 5. Mai, bitte.", "Wann?"),
        ("El 5 de mayo, por favor.", "¿Cuándo?"),
        ("12,50 Euro sind zu viel.", "Das macht 12,50 €."),
        ("1.200 Euro sind zu viel.", "Das macht 1200 €."),
        ("Nein, keinen Muffin.", "Möchten Sie einen Muffin?"),
        ("Me llamo Ann.", "¿Cómo se llama?"),
    ],
)
def test_what_the_role_holds_is_none(message: str, reply: str) -> None:
    plan = "Bestelle Snacks für den 5. Mai. Lehne den Muffin ab."
    assert [] == found(["Ich möchte bitte Snacks.", message], [reply], plan)


@pytest.mark.parametrize(
    ("last", "faults"),
    [
        ("Einen Moment, ich prüfe das für Sie.", ["ends_too_early"]),
        ("Un momento, lo compruebo ahora mismo.", ["ends_too_early"]),
        ("Erledigt. Kann ich sonst noch etwas für Sie tun?", []),
        ("Hecho. ¿Puedo ayudarle en algo más?", []),
    ],
)
def test_an_end_is_too_early_while_something_is_open(last: str, faults: list[str]) -> None:
    assert faults == found(["Snacks."], [last], "Bestelle Snacks.", "goal_reached")


def test_a_message_is_no_repetition_where_the_agent_did_not_understand_it() -> None:
    answer = "Ich hätte gern die kleine Packung von den zwei Größen, bitte."
    said, asked = ["Ich möchte Snacks.", answer, answer], ["Welche Größe?", "Das habe ich nicht verstanden."]

    assert [] == found(said, asked, "Bestelle.")
    assert ["repetition"] == found(said, ["Welche Größe?", "Die kleine Packung kostet vier Euro."], "Bestelle.")
