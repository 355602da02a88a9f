"""The optimisers that any other has to beat: random search, and the best of independent revisions."""

from harness.optimise.searching.search import Search

_MOST_IN_VAIN = 20
"""Proposals in a row without a new text, after which a reflector has nothing more to say."""


class RandomSearch:
    """Revises texts without feedback, from a parent at random, and validates each."""

    def search(self, search: Search, *, together: bool) -> None:
        search.validate(search.start)
        in_vain = 0
        while in_vain < _MOST_IN_VAIN:
            known = [search.candidates[one] for one in search.validated]
            parent = search.random.choice([one for one in known if search.may_be_parent(one)])
            files = search.files if together else (search.random.choice(search.files),)
            found = search.propose(parent, files)
            in_vain = in_vain + 1 if found is None or found.id in search.validated else 0
            if found is not None and found.id not in search.validated:
                search.validate(found)


class BestOfN:
    """Revises the texts in use again and again, each time from another sample of training cases, and validates each."""

    def search(self, search: Search, *, together: bool) -> None:
        search.validate(search.start)
        in_vain = 0
        while in_vain < _MOST_IN_VAIN:
            shown = search.run(search.start, search.minibatch_of())
            files = search.files if together else (search.random.choice(search.files),)
            found = search.propose(search.start, files, shown)
            in_vain = in_vain + 1 if found is None or found.id in search.validated else 0
            if found is not None and found.id not in search.validated:
                search.validate(found)
