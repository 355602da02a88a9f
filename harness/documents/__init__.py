"""Documents that people write, read with care and written whole."""

from harness.documents.problem import Location, first_problem
from harness.documents.reading import is_deeper, read_document, read_plain, shaped, yaml_values
from harness.documents.writing import write_atomically
from harness.documents.yaml_bounds import refuse_boundless_yaml

__all__ = [
    "Location",
    "first_problem",
    "is_deeper",
    "read_document",
    "read_plain",
    "refuse_boundless_yaml",
    "shaped",
    "write_atomically",
    "yaml_values",
]
