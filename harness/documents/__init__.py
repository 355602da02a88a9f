"""Documents that people write: validated when read, and written atomically."""

from typing import TYPE_CHECKING

from harness.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from harness.documents.journal import Journal as Journal
    from harness.documents.problem import Location as Location
    from harness.documents.problem import first_problem as first_problem
    from harness.documents.problem import first_words as first_words
    from harness.documents.reading import is_deeper as is_deeper
    from harness.documents.reading import read_document as read_document
    from harness.documents.reading import read_plain as read_plain
    from harness.documents.reading import shaped as shaped
    from harness.documents.reading import yaml_values as yaml_values
    from harness.documents.schema import all_models as all_models
    from harness.documents.schema import field_docs as field_docs
    from harness.documents.schema import name_in_file as name_in_file
    from harness.documents.schema import schema_of as schema_of
    from harness.documents.writing import write_atomically as write_atomically
    from harness.documents.writing import write_output as write_output
    from harness.documents.yaml_bounds import refuse_boundless_yaml as refuse_boundless_yaml
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "journal": ("Journal",),
            "problem": ("Location", "first_problem", "first_words"),
            "reading": ("is_deeper", "read_document", "read_plain", "shaped", "yaml_values"),
            "schema": ("all_models", "field_docs", "name_in_file", "schema_of"),
            "writing": ("write_atomically", "write_output"),
            "yaml_bounds": ("refuse_boundless_yaml",),
        },
    )
