"""GEPA's loop over texts that are scored case by case. The only module that imports `gepa`.

Parts of gepa 0.1.4 that are not used: its evaluation cache, which knows an item by its index in a list, so that the
validation part is answered from the training part; merging, which bypasses the acceptance criterion; its final choice
by the plain mean, which supports no veto; its pickled state, which omits the state of its random numbers. Therefore
items get ids that no other part has, there is no cache and no merging, every accepted text is returned for the choice,
and GEPA stores nothing. It also continues after an exception of the adapter or the reflector, and would call an
unavailable service until the budget is used up: the first exception is stored, ends the loop, and is raised.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from harness.errors import UsageError
from harness.plugins import extra_remedy

T = TypeVar("T")
Item = TypeVar("Item")

Texts = Mapping[str, str]
"""Name -> text: what GEPA calls a candidate."""


class FirstError:
    """Keeps the first exception of what it runs, and runs nothing more."""

    def __init__(self) -> None:
        self.error: BaseException | None = None

    def run(self, action: Callable[[], T]) -> T:
        if self.error is not None:
            raise self.error
        try:
            return action()
        except BaseException as error:
            self.error = error
            raise


class VetoingSelector:
    """Lets no vetoed candidate become a parent. Among the others it takes the best, or now and then another one."""

    def __init__(self, is_vetoed: Callable[[Texts], bool], seed: int) -> None:
        self._is_vetoed = is_vetoed
        self._random = random.Random(seed)

    def __call__(self, candidates: Sequence[Texts], scores: Sequence[float]) -> int:
        """The index of the parent; the first candidate, which is the one in use, if all are vetoed."""
        allowed = [number for number, one in enumerate(candidates) if not self._is_vetoed(one)] or [0]
        if self._random.random() < 0.2:
            return self._random.choice(allowed)
        return max(allowed, key=lambda number: (scores[number], -number))


@dataclass(frozen=True, kw_only=True)
class GepaLoop(Generic[Item]):
    """One search: what is revised, on what, and by which rules."""

    start: Texts
    train: Sequence[Item]
    validation: Sequence[Item]
    adapter: Any
    """A GEPAAdapter; it runs what may fail through `guard`."""
    guard: FirstError
    accepts: Callable[[Any], bool]
    """Whether a proposal did better on its sample: `eval_before` and `eval_after` are the adapter's batches."""
    selects: Callable[[Sequence[Texts], Sequence[float]], int]
    """Which candidate is revised next, by the validation scores."""
    max_evaluations: int
    minibatch: int
    is_vetoed: Callable[[Texts], bool] = lambda _: False
    """Whether texts can not be taken: such ones end no search, however high they score."""
    seed: int = 0
    revised_together: Literal["round_robin", "all"] = "round_robin"
    """One text at a time, or all of them."""
    reflection: Mapping[str, Any] = field(default_factory=dict)
    """`reflection_lm` and its template, if the adapter does not propose texts itself."""

    def candidates(self) -> list[dict[str, str]]:
        """The accepted texts, in the order of their proposal, without those in use.

        Ends after `max_evaluations` (including cached ones), or if no improvement is possible. Raises UsageError
        if gepa is not installed, and what `guard` kept.
        """
        result = _gepa()(
            seed_candidate=dict(self.start),
            trainset=_Part("train", self.train),
            valset=_Part("validation", self.validation),
            adapter=self.adapter,
            candidate_selection_strategy=_Selector(self.selects),
            acceptance_criterion=_Acceptance(self.accepts),
            module_selector=self.revised_together,
            reflection_minibatch_size=min(self.minibatch, len(self.train)),
            max_metric_calls=self.max_evaluations,
            stop_callbacks=[self._has_failed, self._has_perfect],
            use_merge=False,
            cache_evaluation=False,
            logger=_Silent(),
            seed=self.seed,
            raise_on_exception=True,
            **self.reflection,
        )
        if self.guard.error is not None:
            raise self.guard.error
        return [one for one in result.candidates if one != dict(self.start)]

    def _has_failed(self, state: Any) -> bool:
        del state
        return self.guard.error is not None

    def _has_perfect(self, state: Any) -> bool:
        """Whether texts that may be taken have the highest score in every case of validation."""
        scored = zip(state.program_candidates, state.program_full_scores_val_set, strict=False)
        return any(score >= 1.0 and not self.is_vetoed(texts) for texts, score in scored)


def batch_of(outputs: list[Any], scores: list[float], details: list[Any] | None) -> Any:
    """An adapter's answer to `evaluate`: for each item its output, its score and what a reflector is shown of it."""
    from gepa.core.adapter import EvaluationBatch

    return EvaluationBatch(outputs=outputs, scores=scores, trajectories=details, num_metric_calls=len(scores))


class _Part(Generic[Item]):
    """GEPA's DataLoader over one part: items are known by ids that no other part has."""

    def __init__(self, name: str, items: Sequence[Item]) -> None:
        self._by_id = {f"{name}:{number:06d}": one for number, one in enumerate(items)}

    def all_ids(self) -> Sequence[str]:
        return list(self._by_id)

    def fetch(self, ids: Sequence[str]) -> list[Item]:
        return [self._by_id[one] for one in ids]

    def __len__(self) -> int:
        return len(self._by_id)


@dataclass(frozen=True)
class _Selector:
    selects: Callable[[Sequence[Texts], Sequence[float]], int]

    def select_candidate_idx(self, state: Any) -> int:
        return self.selects(state.program_candidates, state.program_full_scores_val_set)


@dataclass(frozen=True)
class _Acceptance:
    accepts: Callable[[Any], bool]

    def should_accept(self, proposal: Any, state: Any) -> bool:
        del state
        return self.accepts(proposal)


class _Silent:
    """A logger that discards messages, which GEPA otherwise writes to standard output."""

    def log(self, message: str) -> None:
        del message


def check_gepa() -> None:
    """Raises UsageError if gepa is not installed."""
    _gepa()


def _gepa() -> Callable[..., Any]:
    try:
        from gepa.api import optimize
    except ImportError:
        raise UsageError(
            "proposing prompts needs the package gepa, which is not installed",
            remedy=extra_remedy("calibrate"),
        ) from None
    return optimize
