"""What an operation answers as far as is known: its recordings on all tapes, and what was learned."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

from harness.cassette.recording import Recording
from harness.drift.answer import Answer, answer_of
from harness.drift.paths import lies_below
from harness.drift.profile import OperationProfile
from harness.drift.rules import PathRules
from harness.drift.shape import Place, Shape, merged, shape_of
from harness.drift.values import unlike


class Baseline:
    """Of one operation. Every recording counts, of whatever case."""

    def __init__(self, recordings: Iterable[Recording], profile: OperationProfile, rules: PathRules) -> None:
        self._profile = profile
        shapes: defaultdict[str, list[Shape]] = defaultdict(list)
        same: defaultdict[tuple[str, str], list[Answer]] = defaultdict(list)
        for recording in recordings:
            answer = answer_of(recording)
            if answer.unavailable is not None:
                continue
            shapes[answer.group].append(shape_of([answer.value]))
            if recording.mark.effect == "read":
                same[recording.mark.key, recording.mark.state].append(answer)
        self._known = {group: merged(found) for group, found in shapes.items()}
        if profile.knows_shape and "ok" in self._known:
            self._known["ok"] = _with_noise(self._known["ok"], profile)
        self.fleeting = frozenset(profile.fleeting_paths())
        """Members that come and go by themselves."""
        self._volatile = {*profile.volatile_paths(), *_unsteady(list(same.values()), rules)}

    def known(self, answer: Answer) -> Shape:
        """What answers of this one's group look like."""
        return self._known.get(answer.group) or shape_of([answer.value])

    def is_volatile(self, path: str) -> bool:
        """Whether the value there, or the list that it stands in, changes by itself."""
        return any(path == known or (known and lies_below(path, known)) for known in self._volatile)

    def is_settled(self, path: str) -> bool:
        """Whether a value that never changed there can be taken for steady."""
        del path  # asked for together: an operation is sampled as a whole
        return self._profile.is_settled


def _with_noise(known: Shape, profile: OperationProfile) -> Shape:
    """What was seen both ways while learning is no drift: it was as recorded in some answers, and not in others."""
    widened = dict(known)
    for path, learned in profile.paths.items():
        place = known.get(path)
        if place is None:
            if 0 < learned.present < learned.holders:
                widened[path] = Place(
                    kinds=Counter(learned.kinds), present=learned.present, holders=learned.holders, texts=None
                )
            continue
        optional = 0 < learned.present < learned.holders
        both = set(learned.kinds) & set(place.kinds)
        widened[path] = Place(
            kinds=place.kinds + Counter(learned.kinds) if both else place.kinds,
            present=place.present,
            holders=place.holders + (1 if optional else 0),
            texts=_words(place, learned.words),
        )
    return widened


def _words(place: Place, words: tuple[str, ...] | None) -> Counter[str] | None:
    return None if place.texts is None or words is None else place.texts + Counter(words)


def _unsteady(groups: Sequence[Sequence[Answer]], rules: PathRules) -> set[str]:
    """Paths at which the tapes themselves hold several answers to one read in one state."""
    return {
        one.path
        for answers in groups
        for old, new in pairwise(answers)
        if old.status == new.status
        for one in unlike(old.value, new.value, rules)
    }
