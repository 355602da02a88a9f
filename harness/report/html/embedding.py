"""Embeds data in an HTML file so that it is never interpreted as markup or code.

Text of agents and tools is untrusted: it must not end the element that contains it, nor start another. Therefore `<`,
`>`, `&` and all characters outside ASCII are escaped in the embedded text.
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
