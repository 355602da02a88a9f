"""Checks whether texts and values are valid for the expressions and schemas of suites, tools and rubrics, within a
limit of processor time.
"""

from typing import TYPE_CHECKING

from harness.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from harness.validation.expression import check_expression as check_expression
    from harness.validation.expression import cut as cut
    from harness.validation.expression import finds as finds
    from harness.validation.expression import fits as fits
    from harness.validation.path import found_at as found_at
    from harness.validation.path import selects as selects
    from harness.validation.path import strict_path as strict_path
    from harness.validation.schema import Schema as Schema
    from harness.validation.schema import SchemaProblem as SchemaProblem
    from harness.validation.schema import members as members
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "expression": ("check_expression", "cut", "finds", "fits"),
            "path": ("found_at", "selects", "strict_path"),
            "schema": ("SchemaProblem", "Schema", "members"),
        },
    )
