"""With the extra `embeddings`, texts are compared by the vectors of a model that comes with it; ids stay."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.production.failures import SessionFailure
from harness.production.grouping import TextForm, grouped, likeness, load_embedding, shingles, words_of
from tests.production.walking import harness

TEXTS = (
    "The customer was insulted by the reply.",
    "It answers in an offensive and rude way.",
    "The total amount of the invoice is wrong.",
)


def failures(*texts: str) -> list[SessionFailure]:
    return [
        SessionFailure(session=f"s{n}", case="", criterion="criterion:c", text=text) for n, text in enumerate(texts)
    ]


def test_texts_of_one_meaning_are_more_alike_than_by_their_words() -> None:
    embed = load_embedding()
    plain = [TextForm(shingles(words_of(text))) for text in TEXTS]
    both = [TextForm(form.shingles, vector) for form, vector in zip(plain, embed(TEXTS), strict=True)]
    assert 0.0 == likeness(plain[0], plain[1])
    assert likeness(both[0], both[1]) > 1.5 * likeness(both[0], both[2])
    assert pytest.approx(1.0, abs=0.01) == likeness(both[0], both[0])
    assert [()] == embed([""])


def test_no_network_is_needed() -> None:
    """In a network namespace without any interface."""
    code = "from harness.production.grouping import load_embedding; print(len(load_embedding()(['no network'])[0]))"
    done = subprocess.run(["unshare", "--net", sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert ("256\n", "", 0) == (done.stdout, done.stderr, done.returncode)


def test_known_themes_without_vectors_keep_their_ids() -> None:
    first = grouped("shop", failures(*TEXTS))
    again = grouped("shop", failures(*TEXTS), [group.text for group in first], embed=load_embedding())
    assert [group.text.id for group in first] == [group.text.id for group in again]
    fresh = grouped("shop", failures(*TEXTS), embed=load_embedding())
    later = grouped("shop", failures(*reversed(TEXTS)), [group.text for group in fresh])
    assert {group.text.id for group in fresh} == {group.text.id for group in later}


def test_a_missing_extra_is_named_with_the_setting() -> None:
    code = (
        "import sys; sys.modules['tokenizers'] = None; "
        "from harness.production.grouping import load_embedding; load_embedding()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert re.search("UsageError: .*`themes: {text: embeddings}` in online.yaml.*`embeddings`", done.stderr)
    assert "or `text: shingles`" in done.stderr


def test_a_wrong_setting_names_the_file_and_the_field(tmp_path: Path) -> None:
    (tmp_path / "online.yaml").write_text("themes: {text: words}\n")
    told = harness("themes", status=2, project=tmp_path)
    assert "online.yaml:1: field 'themes.text'" in told
