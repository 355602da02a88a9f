"""What one record may hold, and how a record or a whole request is refused."""

from typing import Final

MAX_VALUES: Final = 50_000
"""Values of one record, those inside of lists and objects included: a line of the journal has a longest length."""
TOO_MANY: Final = f"more than {MAX_VALUES} values"


class BadRequest(ValueError):
    """The body is not an export request; the message gives the reason."""


class Rejected(ValueError):
    """One record is not taken; the message is the kind of reason, without content of the record."""
