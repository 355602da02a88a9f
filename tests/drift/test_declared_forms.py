"""Which of several schemas a schema chooses from."""

from harness.drift.forms import branches_of


def test_a_choice_is_each_of_its_objects_and_what_is_no_schema_is_left_out() -> None:
    one, other = {"type": "object", "properties": {"a": {}}}, {"type": "string"}
    assert [one, other] == list(branches_of({"anyOf": [one, True, other]}, {}))
    assert [{"type": "string"}] == list(branches_of({"type": "string"}, {}))
    nested = {"oneOf": [{"allOf": [one]}, other]}
    assert [one, other] == list(branches_of(nested, {}))


def test_a_schema_that_refers_to_itself_ends() -> None:
    root = {"$defs": {"node": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}}}
    assert {"type": "null"} in list(branches_of({"$ref": "#/$defs/node"}, root))
