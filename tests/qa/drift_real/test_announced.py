"""What is claimed of announced changes says on how many statements they rest."""

from pathlib import Path

from qa.drift_real.run import announced_words, pairs

ROOT = Path(__file__).parents[3]


def test_changes_and_sources_are_told_apart() -> None:
    same = {"changes": [{"source": "a"}, {"source": "a"}, {"source": "b"}]}
    assert "3 announced changes, told by 2 sources, of which one announces 2" == announced_words([same])


def test_the_changelog_says_both_numbers() -> None:
    changes, sources, most = [word for word in announced_words(pairs()).split() if word.isdigit()]
    said = " ".join((ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split())
    assert f"{changes} announced changes (told by {sources} sources: one statement of a changelog" in said
    assert f"announces {most} of them" in said
