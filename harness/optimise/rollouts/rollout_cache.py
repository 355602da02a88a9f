"""Every rollout and every proposal of an optimisation, kept by candidate, case and sample: none is paid for twice.

An optimisation is deterministic except for its rollouts and the reflector's answers, and both are kept here: a stopped
one repeats the same steps without cost, and goes on.
"""

from collections import Counter
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing, nullcontext
from pathlib import Path

from harness.documents import Journal
from harness.judge import Reflector
from harness.optimise.candidates.candidate import Candidate
from harness.optimise.rollouts.rollout import Rollout, Rollouts
from harness.optimise.rollouts.spending import OtherSpend, SpendingMeter
from harness.upstream import OutOfBudget
from harness.values import digest_of

_AT_ONCE = 32
"""Rollouts that are asked for together; each is kept as it ends."""


class RolloutCache:
    """Runs what was not run before, within the budget; a file makes it persistent."""

    def __init__(
        self,
        rollouts: Rollouts,
        reflector: Reflector,
        component: str | None,
        meter: SpendingMeter,
        path: Path | None = None,
    ) -> None:
        self._rollouts = rollouts
        self._reflector = reflector
        self._component = component
        self._journal = Journal(path, "delete the folder, and optimise from the beginning")
        self._known: dict[str, Rollout] = {}
        self._proposals: dict[str, str] = {}
        self._asked_for: Counter[tuple[str, str]] = Counter()
        self.meter = meter
        self.calls = 0
        """Rollouts and revisions that this session really asked for."""
        self._read()

    def rollouts(self, candidate: Candidate, cases: Sequence[str], sample: int = 0) -> list[Rollout]:
        """One for each case, in their order. Raises OutOfBudget before it would run one more.

        What could not be measured is run again by the next session.
        """
        keys = {case: digest_of([candidate.id, case, sample]) for case in cases}
        wanted = [case for case, key in keys.items() if key not in self._known]
        for start in range(0, len(wanted), _AT_ONCE):
            self.meter.check()
            some = wanted[start : start + _AT_ONCE]
            found = self._rollouts.run(candidate, some, component=self._component, sample=sample)
            with closing(found) if isinstance(found, Generator) else nullcontext():
                self._kept(found, keys)
        self.meter.check_stop()
        return [self._known[keys[case]] for case in cases]

    def _kept(self, rollouts: Iterable[Rollout], keys: Mapping[str, str]) -> None:
        """Keeps each as it ends; what was spent on trials that a budget cut off is kept too."""
        try:
            for one in rollouts:
                self.calls += 1
                self._known[keys[one.case]] = one
                self.meter.count([one])
                self._keep([{"key": keys[one.case], "rollout": one.model_dump(mode="json")}])
        except OutOfBudget:
            self._keep([])
            raise

    def proposal(self, request: str, optimiser: str) -> str:
        """The reflector's answer. A repeated request of one optimiser is a new question, told apart by its number."""
        self._asked_for[optimiser, request] += 1
        key = digest_of([optimiser, request, self._asked_for[optimiser, request]])
        if key not in self._proposals:
            self.meter.check()
            self._proposals[key] = self._reflector(request)
            self.calls += 1
            self.meter.count(reflections=1)
            self._keep([{"key": key, "proposal": self._proposals[key]}])
        return self._proposals[key]

    def _keep(self, entries: list[dict[str, object]]) -> None:
        """With what judge and reflector have spent so far, for the budget of a later session."""
        self._journal.add([*entries, {"other_spend": self.meter.by_others.model_dump(mode="json")}])

    def _read(self) -> None:
        for number, entry in enumerate(self._journal.entries(), 1):
            try:
                other = entry.get("other_spend", entry.get("beside"))  # `beside`: written before 0.2
                if other is not None:
                    self.meter.spent_before = OtherSpend.model_validate(other)
                    continue
                key = str(entry["key"])
                if "rollout" in entry:
                    rollout = Rollout.model_validate(entry["rollout"])
                    self.meter.count([rollout])
                    if any(score is not None for score in rollout.domains.values()):
                        self._known[key] = rollout
                else:
                    self._proposals[key] = str(entry["proposal"])
                    self.meter.count(reflections=1)
            except (ValueError, KeyError):
                raise self._journal.damaged(number) from None
        self.meter.begin()
