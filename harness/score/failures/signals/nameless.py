"""What looks like an identifier and is none, because it is computed, inferred or known: no system gave it out.

Amounts, dates, years, quarters, clock times, durations, ranges, units, sizes, coordinates, versions, ordinals,
exponents, character codes, names of standards and of files.
"""

import re
from typing import Final

_MONTH: Final = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}"
_YEAR: Final = r"(?:19|20)\d\d"
_NO_NAME: Final = re.compile(
    "|".join(
        (
            r"\d{1,4}[-.:]\d{1,2}([-.:]\d{1,4})?(T[\d:.+Z-]*)?|[NSEW]?\d+\.\d+[NSEW]?",  # dates, times, amounts, places
            rf"{_YEAR}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:[T_-]?\d{{4,6}}Z?)?",  # dates without marks
            rf"(?:(?:\d\d?|{_YEAR})[-_.]?)?{_MONTH}[-_.]?(?:\d\d?|{_YEAR})(?:[-_.]?(?:\d\d|{_YEAR}))?",
            r"[+-]?\d+(?:\.\d+)?[eE][+-]?\d+|\d+(?:-|\.\.|:)\d+",  # exponents, ranges
            r"v?\d+(?:\.\d+)+[a-z0-9.+-]*|\d+(?:st|nd|rd|th|s)",  # versions, ordinals
            r"(?:pre|post|mid|early|late)-\d{4}s?|#?\d+[a-zA-Z]{1,4}",  # years, units
            r"P(?:\d+[YMWD])*(?:T(?:\d+[HMS])+)?|(?:\d+(?:d|h|hrs?|m|min|s|secs?|ms))+",  # durations
            r"\d+x\d+(?:x\d+)?|\d{3,4}[pi]\d{2,3}|(?-i:\d+-[a-z]{3,})",  # sizes, counted things
            r"(?:U\+|\\?x|0x)[0-9a-fA-F]{2,8}|\d{1,2}:\d\d(?:am|pm)?",  # characters, clock times
            rf"{_YEAR}(?:[-/](?:19|20)?\d\d)?|[1-9]\d{{0,5}}0{{3,9}}",  # years, round numbers
            rf"(?:[FC]Y|[QH][1-4][-/]?)(?:19|20)?\d\d|{_YEAR}[-/]?(?:W\d\d?|[QH][1-4])",  # business years, quarters
            r"(?:USD|EUR|GBP|JPY|CHF|CAD|AUD|NZD|CNY|INR)\d+(?:[.,]\d+)*",  # amounts behind their currency
            r"(?:iso|iec|ieee|rfc)[-_]?\d{1,5}(?:[-_:.]\d{1,4})*|(?:utf|base|aes|rsa|cp)[-_]?\d{1,4}",  # standards
            r"(?:sha|md)[-_]?(?:[1-6]|224|256|384|512)|windows-125\d|python\d(?:\.\d+)*",
            r"[\w.+-]+\.(?:csv|tsv|txt|json|jsonl|ya?ml|xml|html?|pdf|docx?|xlsx?|pptx?|png|jpe?g|gif|svg|mp[34]|wav"
            r"|py|js|ts|java|cpp|rs|go|sh|md|log|zip|gz|tar|sql|db|ipynb)",  # files
        )
    ),
    re.I,
)


def is_nameless(value: str) -> bool:
    """Whether no system gave it out as a name."""
    return _NO_NAME.fullmatch(value) is not None
