"""What a schema declares about objects: which are maps, which are records, and which of several it chooses from."""

from harness.drift.forms import branches_of, declared_forms


def test_named_members_make_a_record_and_free_ones_a_map() -> None:
    stock = {"type": "object", "additionalProperties": {"type": "integer"}}
    named = {"type": "object", "properties": {"stock": stock, "name": {"type": "string"}}}
    forms = declared_forms(named)
    assert {"stock"} == set(forms.maps)
    assert "" in forms.records


def test_an_object_that_names_no_member_is_a_map_where_its_values_are_declared() -> None:
    forms = declared_forms({"type": "object", "properties": {}, "additionalProperties": {"type": "integer"}})
    assert {""} == set(forms.maps)


def test_a_choice_is_each_of_its_objects_and_what_is_no_schema_is_left_out() -> None:
    one, other = {"type": "object", "properties": {"a": {}}}, {"type": "string"}
    assert [one, other] == list(branches_of({"anyOf": [one, True, other]}, {}))
    assert [{"type": "string"}] == list(branches_of({"type": "string"}, {}))
    nested = {"oneOf": [{"allOf": [one]}, other]}
    assert [one, other] == list(branches_of(nested, {}))


def test_a_schema_that_refers_to_itself_ends() -> None:
    root = {"$defs": {"node": {"anyOf": [{"$ref": "#/$defs/node"}, {"type": "null"}]}}}
    assert {"type": "null"} in list(branches_of({"$ref": "#/$defs/node"}, root))
