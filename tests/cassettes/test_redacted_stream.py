"""A secret is found in a stream wherever it is cut."""

import base64
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from harness.cassettes.redacted_streams import RedactedStream
from harness.cassettes.redaction import Redactor
from tests.cassettes.streaming import passed

SECRETS = {"KEY": "aabaab", "LONG": "aabaabaabaab!", "WORD": "sk-ünïcode/0815"}
PIECES = st.sampled_from([*SECRETS.values(), base64.b64encode(SECRETS["WORD"].encode()).decode(), "a", "b", "sk-", "!"])


def streamed(text: bytes, cuts: list[int]) -> bytes:
    places = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return passed(RedactedStream(Redactor(SECRETS)), (text[a:b] for a, b in pairwise(places)))


@given(st.lists(PIECES, max_size=12), st.lists(st.integers(0, 10_000), max_size=30))
def test_however_it_is_cut_the_stream_is_the_redacted_text(pieces: list[str], cuts: list[int]) -> None:
    text = "".join(pieces)
    assert Redactor(SECRETS).text(text).encode() == streamed(text.encode(), cuts)
