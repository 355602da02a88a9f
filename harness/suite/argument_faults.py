"""Kinds of what is wrong with a call's arguments, by the keyword of the schema that they do not fit."""

from typing import Any, Final

from jsonschema.exceptions import ValidationError, best_match
from jsonschema.protocols import Validator

_ORDER: Final = ("unknown", "missing", "wrong_type", "out_of_range", "other")
_KINDS: Final[dict[str, str]] = {
    **dict.fromkeys(("additionalProperties", "unevaluatedProperties", "propertyNames"), "unknown"),
    **dict.fromkeys(("required", "dependentRequired"), "missing"),
    "type": "wrong_type",
    **dict.fromkeys(("enum", "const", "pattern", "format", "multipleOf", "uniqueItems"), "out_of_range"),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), "out_of_range"),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), "out_of_range"),
    **dict.fromkeys(("minProperties", "maxProperties"), "out_of_range"),
}


def fault_in(validator: Validator, value: Any) -> tuple[str, str] | None:
    """Kind and words; None if the value fits. Of several faults the first in the order of the kinds."""
    if validator.is_valid(value):
        return None
    errors = sorted(validator.iter_errors(value), key=lambda error: _ORDER.index(_kind_of_error(error)))
    kind = _kind_of_error(errors[0])
    error = best_match([one for one in errors if _kind_of_error(one) == kind]) or errors[0]
    place = "".join(f"/{part}" for part in error.absolute_path)
    return kind, f"{place or 'arguments'}: {error.message[:200]}"


def _kind_of_error(error: ValidationError) -> str:
    """The kind of an error; for a choice between schemas (`anyOf`), that of the nearest one, as far as it can be
    determined.
    """
    inner = best_match(error.context) if error.context else None
    return _KINDS.get(str(error.validator), "other") if inner is None else _kind_of_error(inner)
