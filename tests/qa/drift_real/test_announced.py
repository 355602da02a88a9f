"""What is printed of announced changes says on how many statements they rest."""

from qa.drift_real.run import announced_words


def test_changes_and_sources_are_told_apart() -> None:
    same = {"changes": [{"source": "a"}, {"source": "a"}, {"source": "b"}]}
    assert "3 announced changes, told by 2 sources, of which one announces 2" == announced_words([same])
