"""The known answers of an operation: its recordings on all cassettes, and its learned profile."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

from harness.cassette import Recording
from harness.drift.comparing.answer import OK, Answer, answer_of
from harness.drift.comparing.forms import UNKNOWN, Forms, forms_seen
from harness.drift.comparing.paths import lies_below
from harness.drift.comparing.profile import OperationProfile
from harness.drift.comparing.rules import PathRules
from harness.drift.comparing.shape import PathShape, Shape, shape_of
from harness.drift.comparing.values import unlike
from harness.values import JsonValue


class AnswerBaseline:
    """The baseline of one operation. Recordings of all cases count."""

    def __init__(
        self,
        recordings: Iterable[Recording],
        profile: OperationProfile,
        rules: PathRules,
        declared: Forms = UNKNOWN,
    ) -> None:
        """`declared` holds the forms that a schema declares for successful answers."""
        self._profile = profile
        self._ruled = Forms(rules=rules)
        values: defaultdict[str, list[JsonValue]] = defaultdict(list)
        same: defaultdict[tuple[str, str], list[Answer]] = defaultdict(list)
        for recording in recordings:
            answer = answer_of(recording)
            if answer.is_silent:
                continue
            values[answer.group].append(answer.value)
            if recording.mark.effect == "read":
                same[recording.mark.key, recording.mark.state].append(answer)
        forms = self._ruled.over(declared)
        if profile.knows_shape:
            forms = forms.over(forms_seen(path for path, one in profile.paths.items() if one.kinds))
        self._success_forms, self._values = forms, values
        self._forms: dict[str, Forms] = {}
        self._known: dict[str, Shape] = {}
        for group, found in values.items():
            group_forms = forms if group == OK else self._ruled
            self._known[group] = shape_of(found, group_forms)
            self._forms[group] = group_forms.over(forms_seen(self._known[group]))
        if profile.knows_shape and OK in self._known:
            self._known[OK] = _with_noise(self._known[OK], profile)
        self.fleeting = frozenset(profile.fleeting_paths())
        """Members that are sometimes present without a change of the tool."""
        self._volatile = {*profile.volatile_paths(), *self._unsteady(list(same.values()), rules)}

    def known(self, answer: Answer) -> Shape:
        """The known shape of the answers in this answer's group."""
        return self._known.get(answer.group) or shape_of([answer.value])

    def forms(self, answer: Answer) -> Forms:
        """Which objects in answers of this answer's group are maps, and which are records."""
        return self._forms.get(answer.group) or self._ruled.over(forms_seen(self.known(answer)))

    def declared_forms(self, answer: Answer) -> Forms:
        """The forms of objects in such answers according to rules, schemas or learned samples, but not the
        recordings.
        """
        return self._success_forms if answer.group == OK else self._ruled

    def values(self, answer: Answer) -> Sequence[JsonValue]:
        """All recorded answers of this answer's group."""
        return self._values.get(answer.group) or [answer.value]

    def is_volatile(self, path: str) -> bool:
        """Whether the value at the path, or the list that contains it, varies without a change of the tool."""
        return any(path == known or (known and lies_below(path, known)) for known in self._volatile)

    def is_settled(self, path: str) -> bool:
        """Whether a value that never changed there can be considered stable."""
        del path  # part of the interface; an operation is sampled as a whole
        return self._profile.is_settled

    def _unsteady(self, groups: Sequence[Sequence[Answer]], rules: PathRules) -> set[str]:
        """Paths at which the cassettes themselves contain different answers to one read in one state."""
        return {
            one.path
            for answers in groups
            for old, new in pairwise(answers)
            if old.status == new.status
            for one in unlike(old.value, new.value, rules, self.forms(old))
        }


def _with_noise(known: Shape, profile: OperationProfile) -> Shape:
    """Variation that was observed while learning is not drift: some answers matched the recording, and others
    did not.
    """
    widened = dict(known)
    for path, learned in profile.paths.items():
        place = known.get(path)
        if place is None:
            if 0 < learned.present < learned.holders:
                widened[path] = PathShape(
                    kinds=Counter(learned.kinds), present=learned.present, holders=learned.holders, texts=None
                )
            continue
        optional = 0 < learned.present < learned.holders
        both = set(learned.kinds) & set(place.kinds)
        widened[path] = PathShape(
            kinds=place.kinds + Counter(learned.kinds) if both else place.kinds,
            present=place.present,
            holders=place.holders + (1 if optional else 0),
            texts=_words(place, learned.words),
        )
    return widened


def _words(place: PathShape, words: tuple[str, ...] | None) -> Counter[str] | None:
    return None if place.texts is None or words is None else place.texts + Counter(words)
