"""Data inside an HTML file, where it can be nothing but data.

What agents and tools said is hostile until shown otherwise: it must not end the element that holds it, nor begin
another. So no `<`, `>` or `&` and nothing beyond ASCII stands in the embedded text as itself.
"""

import json
import math

_ESCAPES = {ord("<"): "\\u003c", ord(">"): "\\u003e", ord("&"): "\\u0026"}


def embedded(value: object) -> str:
    """JSON for a `<script type="application/json">` element; NaN and infinities, which JSON lacks, become words."""
    try:
        text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    except ValueError:
        text = json.dumps(_finite(value), ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return text.translate(_ESCAPES)


def data_element(name: str, value: object) -> str:
    """The element with the id `name`, which must be a plain word."""
    return f'<script type="application/json" id="{name}">{embedded(value)}</script>\n'


def _finite(value: object) -> object:
    match value:
        case float() if not math.isfinite(value):
            return str(value)
        case dict():
            return {key: _finite(item) for key, item in value.items()}
        case list() | tuple():
            return [_finite(item) for item in value]
        case _:
            return value
