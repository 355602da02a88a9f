"""The public fake of a user's model: it follows the plan of its request, and nothing else."""

from harness.gateway.user import Heard
from harness.users.role import Role, prompt_of
from qa.doubles.plan_rules import next_message

PLAN = (
    'Ask for the reorder of the last order. Refuse the muffin. If asked for the size, say "Small, please." '
    'Then say "And a tea. A large one." Confirm the total. End when done.'
)
ROLE = Role(opening="I want to reorder my usual.", plan=PLAN, profile={"name": "Ann", "loyalty_id": "L-12"})


def test_answers_come_first_then_the_steps_of_the_plan_then_the_signal() -> None:
    said, rounds = [ROLE.opening], []
    replies = (
        "Sure. Which size would you like?",
        "Would you like a muffin?",
        "What is your loyalty id?",
        "Noted.",
        "Fine.",
        "Your total is $5. Shall I place the order?",
        "Done! Your order is placed. Anything else?",
    )
    for reply in replies:
        rounds.append((reply,))
        prompt = prompt_of(ROLE, Heard(said=tuple(said), replies=(), rounds=tuple(rounds)))
        said.append(next_message(prompt.system, list(prompt.messages)))

    assert [
        "Small, please.",
        "No, thank you, not the muffin.",
        "My loyalty id is L-12.",
        "I would like the reorder of the last order.",
        "And a tea. A large one.",
        "Yes, please.",
        "[[END: GOAL REACHED]]",
    ] == said[1:]
