"""What readers stumble over: values, numbers, and pieces of text that no ordinary writer writes."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Raw:
    """Text that stands in a document as it is, valid or not."""

    text: str


NUMBERS: tuple[Any, ...] = (
    0, -1, 1, 2**31, 2**63, 2**64, -(2**63) - 1, 10**30, 10**400, 1e308, -0.0, 5e-324, 0.1, 1.0, 600, 1e15, 1e16,
    253402300800, 86400 * 10**9,
)  # fmt: skip

VALUES: tuple[Any, ...] = (
    *NUMBERS, None, True, False, "", " ", "x", "\x00", "\ud800", "\udfff\ud800", "\u2028", "\x85", "NaN", "1e999",
    "0" * 5000, "9" * 5000, "é" * 300, "a" * 100_000, "../../etc/passwd", "/etc/passwd", "~", "a/b", ".", "..",
    "2025-02-30", "9999999-99-99T99:99:99Z", "0000-00-00", "2025-01-01T00:00:00+99:99", "10000-01-01", "(a+)+$", "(",
    "[", "(?P<x>", "(?<=a*)b", "\\", "{", "%s%n", "{0.__class__}", "$..*", "$[?(@.a == ", "http://[", "http://:99999",
    "http://a\nb/", "data:;base64,!", "=?", "<!--", "-->", "```", "[DONE]", "null", "true", "base64:", "=", "====",
    [], {}, [[]], [None], [1, "1", 1.0, True], {"": None}, {"a": {"a": {"a": {}}}}, {"type": "text"}, {"$ref": "#"},
    {"role": "tool"}, [{"type": "text"}], {"type": "tool_use"}, {"type": []}, [0] * 300,
)  # fmt: skip

_DEEP_LIST = "[" * 3000 + "]" * 3000
_DEEPER_LIST = "[" * 100_000 + "]" * 100_000
_DEEP_OBJECT = '{"a":' * 900 + "1" + "}" * 900

RAW_JSON = tuple(
    map(
        Raw,
        (
            "NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1" * 5000, "-" + "9" * 4301, "1." + "0" * 5000, "1E5",
            '"\\ud800"', '"\\udfff\\ud800"', '"\\u0000"', '"\\uD83D\\uDE00"', '"\ud800"', '"\t"', '"\x00"', _DEEP_LIST,
            _DEEPER_LIST, _DEEP_OBJECT, '{"a": 1, "a": 2}', "[1,]", "{,}", "'a'", "nul", "0x1F", "01", "+1", "1.", ".5",
            "-", '"\\x"', '"', "}", "]", ",", '{"a":1}{"b":2}', "/* c */ 1", "",
        ),
    )
)  # fmt: skip

_LAUGHS = "[&a [x,x,x,x,x,x,x,x,x,x], " + ", ".join(
    f"&{name} [{','.join([f'*{before}'] * 10)}]" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
) + "]"  # fmt: skip
_MERGES = "[&m {a: 1}, " + ", ".join(
    f"&m{number} {{<<: [{','.join(['*m' if not number else f'*m{number - 1}'] * 9)}], k{number}: 1}}"
    for number in range(9)
) + "]"  # fmt: skip

RAW_YAML = (
    *RAW_JSON,
    *map(
        Raw,
        (
            _LAUGHS, _MERGES, "&r [*r]", "&r {a: *r}", "&r {*r : 1}", "{<<: &r {<<: *r}}", "*nowhere",
            "!!python/none x",
            "!!python/object/apply:os.system [true]", "!!python/tuple [1]",
            "!!python/object/new:_io.BytesIO {state: 5}",
            "!!python/object/apply:builtins.iter {args: 5}", "!!timestamp x", "2025-01-01", "2025-02-30",
            "2025-01-01T00:00:00Z", "2025-01-01T25:00:00Z", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59",
            "!!binary 'YWI='", "!!binary '!'", "!!binary 'é'", "!!set {a, b}", "!!omap [{a: 1}]", "!!pairs [[a]]",
            "!!int x", "!!int ''", "!!float x", "!!bool x", "!!null x", "!!str [a]", "!!map [a]", "!!seq {a: 1}", "! x",
            "!x y", "0o17", "0b2", "1_000", "1:30:00", "1:99:99.9", "-.inf", ".nan", "~", "yes", "{[a]: b}",
            "{{a: b}: c}", "{? a}", "{null: 1}", "{1: a, '1': b}", "{true: 1, 1: 2}", "{<<: 1}", "{<<: [1]}",
            "{<<: {a: 1}, a: 2}", "{=: 1}", "=", "<<", "|\n x", "- a\n- b", "--- a\n...", "# c", "@a", "`a`", "%a",
        ),
    ),
)  # fmt: skip

TOKENS = (
    b"\x00", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r", b"\r\n", b"\n", b"\t", b"\x85", b"\xe2\x80\xa8",
    b'"', b"'", b"\\", b"{", b"}", b"[", b"]", b":", b",", b"-", b"&a", b"*a", b"!!", b"<<: ", b"---\n", b"...\n", b"#",
    b"null", b"NaN", b"1e400", b"9" * 4400, b"-1", b"0", b"\\ud800", b"\\u0000", b"a" * 70_000, b"data: ", b"data:\n\n",
    b"event: x\n", b"1:30", b"2025-02-30", b"%00", b"%2e%2e%2f", b"../", b"\x1b[31m", b"\xf0\x9f\x98\x80", b"\xe9",
)  # fmt: skip
