"""Whether two turns mean the same to a user, by rules."""

import pytest

from harness.simulate.meaning.texts import texts_differ

SAME = [
    ("Please provide your user ID.", "Could you share your user ID?"),
    ("Please provide your user ID.", "What is your user ID?"),
    ("Would you like me to cancel it?", "Shall I cancel it?"),
    ("I can furnish the receipt.", "I can conjure the receipt."),
    ("The flight is on May 20.", "The flight is on 2024-05-20."),
    ("The flight is on May 20, 2024.", "The flight is on 20 May 2024."),
    ("The total is $1,200.", "The total is 1200 dollars."),
    ("It leaves at 2:30 pm.", "It leaves at 14:30."),
    ("Both flights are booked.", "The two flights are booked."),
    ("To verify your identity, I need your zip code.", "I need your zip code for the verification of your identity."),
    ("Your order is delivered. If you need further help, please let me know!", "Your order is delivered."),
    ("Your order of 2 mugs is shipped. It is order #W12.", "Order #W12, your order of 2 mugs, is shipped."),
    ("Unfortunately, the parcel left.", "Bummer, but the parcel left."),
    ("Please provide your user ID.", "Shoot me your user ID."),
    ("Could you please share your user ID?", "May I humbly solicit your user ID?"),
    ("I need your zip code.", "Missing: your zip code."),
    ("Please send the receipt.", "If you don't mind, send the receipt."),
    ("Would you like me to cancel it?", "OK if I cancel it?"),
]
CHANGED = [
    ("Your parcel is available.", "Your parcel is haunted.", "slots"),
    ("The parcel left.", "The parcel left with a kettle.", "slots"),
    ("However, the parcel left.", "A neighbour signed. The parcel left.", "slots"),
    ("The coupon is valid.", "The coupon is invalid.", "slots"),
    ("Turn airplane mode on.", "Turn airplane mode off.", "slots"),
    ("May I have your user ID?", "May I cancel your order?", "slots"),
    ("The refund goes to your credit card.", "The refund goes to your gift card.", "slots"),
    ("You are eligible to cancel the reservation.", "You are eligible to upgrade the reservation.", "slots"),
    ("Cancel all of it. Shall I cancel it?", "Upgrade all of it. Shall I cancel it?", "slots"),
    ("Both flights are booked.", "All three flights are booked.", "slots"),
    ("You have 2 mugs and 3 plates.", "You have 3 mugs and 2 plates.", "slots"),
    ("Order 8541487 is shipped.", "Order 8541488 is shipped.", "slots"),
    ("It can be returned.", "It cannot be returned.", "act"),
    ("It has to be sent before the party.", "It has to be sent after the party.", "slots"),
    ("After that, it is sent before the party.", "After that, it is sent after the party.", "slots"),
    ("Your answer is correct.", "Your answer is wrong.", "slots"),
    ("The request was accepted.", "The request was declined.", "slots"),
    ("You can keep the mug.", "You can discard the mug.", "slots"),
    ("Your order has been cancelled.", "Has your order been cancelled?", "act"),
    (
        "Your order has been updated:\n- 2 mugs\nIf you need anything else, just let me know!",
        "Has your order been updated: - 2 mugs If you need anything else, just let me know?",
        "act",
    ),
    ("Which size? Your order has been cancelled.", "Which size? Has your order been cancelled.", "act"),
    ("I have cancelled your order.", "Shall I cancel your order?", "act"),
    ("Your order is cancelled.", "I will now cancel your order.", "act"),
]


@pytest.mark.parametrize(("then", "now"), SAME)
def test_another_wording_is_no_difference(then: str, now: str) -> None:
    assert texts_differ(then, now) is None
    assert texts_differ(now, then) is None


@pytest.mark.parametrize(("then", "now", "kind"), CHANGED)
def test_a_change_is_found_in_both_directions(then: str, now: str, kind: str) -> None:
    for found in (texts_differ(then, now), texts_differ(now, then)):
        assert found is not None
        assert kind == found.kind
