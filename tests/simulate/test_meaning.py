"""Whether two turns mean the same to a user, by rules."""

import pytest

from harness.users.meaning.turn import texts_differ

SAME = [
    ("Please provide your user ID.", "Could you share your user ID?"),
    ("Please provide your user ID.", "What is your user ID?"),
    ("Would you like me to cancel it?", "Shall I cancel it?"),
    ("I can furnish the receipt.", "I can conjure the receipt."),
    ("The flight is on May 20.", "The flight is on 2024-05-20."),
    ("The flight is on May 20, 2024.", "The flight is on 20 May 2024."),
    ("The flight is on May 11, 2024.", "The flight is on 11.05.2024."),
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
    ("It comes on 05.11.2024.", "It comes on 11.05.2024.", "slots"),
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


EXCHANGED = [
    (  # the quotation mark behind the first name is missing: no JSON
        '{"a": [\n{\n"id": "X11,\n"at": "9:00"\n},\n{\n"id": "X12",\n"at": "11:00"\n}]}',
        '{"a": [\n{\n"id": "X11,\n"at": "11:00"\n},\n{\n"id": "X12",\n"at": "9:00"\n}]}',
    ),
    ("Milk from Greenway and bread from Corner.", "Bread from Greenway and milk from Corner."),
    ("The red shirt and hat are in the cart.", "The red hat and shirt are in the cart."),
    ("I added bread and apples are sold out.", "I added apples and bread are sold out."),
    ("I booked Boston and cancelled Denver.", "I booked Denver and cancelled Boston."),
    ("I packed 2 bags for Anna and 3 bags for Ben.", "I packed 2 bags for Ben and 3 bags for Anna."),
    ("The jam costs $5 and the honey costs $7.", "The jam costs $7 and the honey costs $5."),
    ("The rent is $50, not $60.", "The rent is $60, not $50."),
    ("Check-in is May 5, check-out is May 9.", "Check-in is May 9, check-out is May 5."),
    ("Parcel P100 is lost and parcel P200 is delivered.", "Parcel P100 is delivered and parcel P200 is lost."),
    ("- Bolts: 12\n- Nuts: 30", "- Bolts: 30\n- Nuts: 12"),
    ("1. Hammer\n   - Price: $9\n2. Saw\n   - Price: $14", "1. Hammer\n   - Price: $14\n2. Saw\n   - Price: $9"),
    ("The ferry from Dover to Calais is full.", "The ferry from Calais to Dover is full."),
    ("You owe us for the glass.", "We owe you for the glass."),
    ("The scarf is dearer than the hat.", "The hat is dearer than the scarf."),
    ("The door opens at 9:00 and shuts at 17:00.", "The door opens at 17:00 and shuts at 9:00."),
    (
        '{"a": [{"id": "X11", "price": 4}, {"id": "X12", "price": 6}]}',
        '{"a": [{"id": "X11", "price": 6}, {"id": "X12", "price": 4}]}',
    ),
    ("Ann Lee (2001-02-03), Bo Park (1999-08-07).", "Ann Lee (1999-08-07), Bo Park (2001-02-03)."),
    (
        "A ticket from Port Dover (DVR) to Calais (CQF), with number: Z12",
        "A ticket from Port Dover (CQF) to Calais (DVR), with number: Z12",
    ),
    (
        "The ferry (id: 4711) is swapped for the boat (id: 4712).",
        "The ferry (id: 4712) is swapped for the boat (id: 4711).",
    ),
    (
        "Swap: jar (id 4711), lid blue -> jar (id 4712), lid red",
        "Swap: jar (id 4712), lid blue -> jar (id 4711), lid red",
    ),
    (
        "1. First\n   **Ferry F1**: Dover\n   - Leaves: 17:00\n2. Second\n   **Ferry F2**: Dover\n   - Leaves: 23:00",
        "1. First\n   **Ferry F1**: Dover\n   - Leaves: 23:00\n2. Second\n   **Ferry F2**: Dover\n   - Leaves: 17:00",
    ),
    (
        '{"a": [{"id": "X11", "price": 4}, {"id": "X12", "price": 6}]}\nThat is all.',
        '{"a": [{"id": "X11", "price": 6}, {"id": "X12", "price": 4}]}\nThat is all.',
    ),
]
MOVED_WHOLE = [
    ("I have added jam and honey to your cart.", "I have added honey and jam to your cart."),
    ("The bread and milk are sold out.", "The milk and bread are sold out."),
    ("I found 2 jars of jam, 1 loaf and 3 bottles of honey.", "I found 3 bottles of honey, 1 loaf and 2 jars of jam."),
    ("The jam costs $5. The honey costs $7.", "The honey costs $7. The jam costs $5."),
    ("1. Hammer\n   - Price: $9\n2. Saw\n   - Price: $14", "1. Saw\n   - Price: $14\n2. Hammer\n   - Price: $9"),
    ("- Bolts: 12\n- Nuts: 30", "- Nuts: 30\n- Bolts: 12"),
    ("You can take flight HAT100, HAT200 or HAT300.", "You can take flight HAT300, HAT100 or HAT200."),
    ("I paid with cards of $5 and $7.", "I paid with cards of $7 and $5."),
    ("Great! The glass is $4.", "The glass is $4."),
    ("I need it prior to Monday.", "I need it before Monday."),
]
SCOPE = [
    ("All jars are open.", "Some jars are open."),
    ("You must sign it.", "You may sign it."),
    ("It comes within 3 days.", "It comes after 3 days."),
    ("Only the lid is glass.", "The lid is glass."),
    ("It comes today.", "It comes tomorrow."),
    ("Come in the morning.", "Come in the afternoon."),
    ("Take the first door.", "Take the last door."),
    ("Up to 4 guests may stay.", "At least 4 guests may stay."),
    ("The rate went up.", "The rate went down."),
    ("The soup is good.", "The soup is bad."),
    ("Is there anything else I can do for you today?", "Is there anything else I can do for you tomorrow?"),
]


@pytest.mark.parametrize(("then", "now"), [*EXCHANGED, *SCOPE])
def test_what_belongs_to_what_and_how_far_it_goes_counts(then: str, now: str) -> None:
    assert texts_differ(then, now) is not None
    assert texts_differ(now, then) is not None


@pytest.mark.parametrize(("then", "now"), MOVED_WHOLE)
def test_what_moves_with_its_context_is_the_same(then: str, now: str) -> None:
    assert texts_differ(then, now) is None
    assert texts_differ(now, then) is None


@pytest.mark.parametrize(("then", "now"), SAME)
def test_another_wording_is_no_difference(then: str, now: str) -> None:
    assert texts_differ(then, now) is None
    assert texts_differ(now, then) is None


@pytest.mark.parametrize(("then", "now", "kind"), CHANGED)
def test_a_change_is_found_in_both_directions(then: str, now: str, kind: str) -> None:
    for found in (texts_differ(then, now), texts_differ(now, then)):
        assert found is not None
        assert kind == found.kind
