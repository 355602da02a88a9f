"""Runs GEPA's loop on a judge's prompt. The only module that imports `gepa`.

Parts of gepa 0.1.4 that are not used: its evaluation cache (see `answer_cache`); merging, which bypasses the acceptance
criterion; its final choice by the plain mean, which supports no veto; its pickled state, which omits the state of its
random numbers. Therefore there is no cache and no merging, every accepted candidate is returned for the choice, and
GEPA stores nothing. It also continues after an exception of the judge or the reflector, and would call an unavailable
service until the calls are used up: the first exception is stored, ends the loop, and is raised.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from harness.distribution import extra_remedy
from harness.errors import UsageError
from harness.judge.lab.calibration.answer_cache import AnswerCache
from harness.judge.lab.calibration.figures import figures, is_false_pass, score
from harness.judge.lab.calibration.question import Answered, Question
from harness.judge.lab.calibration.split import Split

T = TypeVar("T")

_PROMPT = "prompt"
_SHOWN = 4_000
_REQUEST = """You improve the instructions of a judge: a language model that decides whether an agent's work meets one \
criterion. These are its instructions now:
```
<curr_param>
```

Below are items on which people decided too. Where the judge was wrong, find out which rule it lacks or misreads, and \
write instructions under which it would decide as people do, on these and on items you have not seen. Keep every rule \
that is right. State general rules; do not list the items. How the evidence is given and how the answer must look is \
told to the judge elsewhere.

<side_info>

Give the whole new instructions between ``` marks."""

IsUsable = Callable[[str], str | None]
"""Why a text cannot be the judge's prompt, in words; None: it can."""


def any_text(text: str) -> None:
    """Every text can be the prompt."""
    del text


class _Part:
    """GEPA's DataLoader over one part: questions are known by ids that no other part has."""

    def __init__(self, name: str, questions: Sequence[Question]) -> None:
        self._by_id = {f"{name}:{number:06d}": one for number, one in enumerate(questions)}

    def all_ids(self) -> Sequence[str]:
        return list(self._by_id)

    def fetch(self, ids: Sequence[str]) -> list[Question]:
        return [self._by_id[one] for one in ids]

    def __len__(self) -> int:
        return len(self._by_id)


class _Guard:
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

    def has_failed(self, state: Any) -> bool:
        """For GEPA: whether to stop."""
        del state
        return self.error is not None


class _Adapter:
    """Scores a prompt by labels of people. An unusable prompt scores 0 everywhere, without a request."""

    propose_new_texts = None

    def __init__(self, book: AnswerCache, is_usable: IsUsable, guard: _Guard) -> None:
        self._book = book
        self._is_usable = is_usable
        self._guard = guard

    def evaluate(self, batch: list[Question], candidate: dict[str, str], capture_traces: bool = False) -> Any:
        from gepa.core.adapter import EvaluationBatch

        prompt = candidate[_PROMPT]
        problem = self._is_usable(prompt)
        unusable = Answered(answer="judge_failed", rationale=problem or "")
        answers = [unusable] * len(batch)
        if problem is None:
            answers = self._guard.run(lambda: self._book.answers(prompt, batch))
        asked = list(zip(batch, answers, strict=True))
        return EvaluationBatch(
            outputs=answers,
            scores=[score(question, said) for question, said in asked],
            trajectories=asked if capture_traces else None,
            num_metric_calls=len(batch),
        )

    def make_reflective_dataset(
        self, candidate: dict[str, str], eval_batch: Any, components_to_update: list[str]
    ) -> Mapping[str, Sequence[Mapping[str, str]]]:
        del candidate
        wrong_first = sorted(eval_batch.trajectories, key=lambda pair: score(*pair))
        return {component: [_feedback(*pair) for pair in wrong_first] for component in components_to_update}


def _feedback(question: Question, said: Answered) -> Mapping[str, str]:
    right = f"People decided: {question.right}."
    notes = "".join(f" {note}" for note in question.notes)
    if said.answer == question.right:
        verdict = "The judge was right."
    else:
        lenient = " It let through what must fail." if is_false_pass(question, said) else ""
        verdict = f"The judge was wrong: {said.answer}.{lenient}"
    return {
        "Criterion": f"{question.criterion}: {question.statement}",
        "Evidence": said.shown[:_SHOWN],
        "Judge": f"{said.answer}: {said.rationale}",
        "Feedback": f"{right}{notes} {verdict}",
    }


class _Acceptance:
    """First veto: on the questions just tried, more must be right, and no more of what is critical let through."""

    def should_accept(self, proposal: Any, state: Any) -> bool:
        del state
        before, after = proposal.eval_before, proposal.eval_after
        if sum(after.scores) <= sum(before.scores):
            return False
        if not before.trajectories or not after.trajectories:
            return True  # the second veto, on validation, still holds
        return _critical(after.trajectories) <= _critical(before.trajectories)


def _critical(asked: Sequence[tuple[Question, Answered]]) -> int:
    return figures([one for one, _ in asked], [said for _, said in asked]).critical_false_passes


class _Selector:
    """Second veto: no vetoed candidate becomes a parent. Among the others the best, or now and then another one."""

    def __init__(self, is_vetoed: Callable[[str], bool], seed: int) -> None:
        self._is_vetoed = is_vetoed
        self._random = random.Random(seed)

    def select_candidate_idx(self, state: Any) -> int:
        allowed = [
            number for number, one in enumerate(state.program_candidates) if not self._is_vetoed(one[_PROMPT])
        ] or [0]
        if self._random.random() < 0.2:
            return self._random.choice(allowed)
        scores = state.program_full_scores_val_set
        return max(allowed, key=lambda number: (scores[number], -number))


class Optimizer:
    """Proposes prompts: learns from the training part, reads the validation part, and never the held-out one."""

    def __init__(self, book: AnswerCache, is_usable: IsUsable, seed: int = 0, minibatch: int = 8) -> None:
        self._book = book
        self._is_usable = is_usable
        self._seed = seed
        self._minibatch = minibatch

    def candidates(self, prompt: str, split: Split, reflector: Callable[[str], str], max_calls: int) -> list[str]:
        """Prompts with a better score on their sample, in the order of their proposal, without `prompt` itself.

        Ends after `max_calls` questions (including cached ones), or where no improvement is possible. Raises UsageError
        where gepa is not installed.
        """
        optimize, guard = _gepa(), _Guard()
        validation = list(split.validation)
        allowed = figures(validation, self._book.answers(prompt, validation)).critical_false_passes

        def is_vetoed(other: str) -> bool:
            if self._is_usable(other) is not None:
                return True
            return figures(validation, self._book.answers(other, validation)).critical_false_passes > allowed

        result = optimize(
            seed_candidate={_PROMPT: prompt},
            trainset=_Part("train", split.train),
            valset=_Part("validation", validation),
            adapter=_Adapter(self._book, self._is_usable, guard),
            reflection_lm=lambda request: guard.run(lambda: self._book.proposal(str(request), reflector)),
            reflection_prompt_template=_REQUEST,
            candidate_selection_strategy=_Selector(is_vetoed, self._seed),
            acceptance_criterion=_Acceptance(),
            reflection_minibatch_size=min(self._minibatch, len(split.train)),
            max_metric_calls=max_calls,
            stop_callbacks=[guard.has_failed, _is_perfect],
            use_merge=False,
            cache_evaluation=False,
            logger=_Silent(),
            seed=self._seed,
            raise_on_exception=True,
        )
        if guard.error is not None:
            raise guard.error
        return [one[_PROMPT] for one in result.candidates if one[_PROMPT] != prompt]


def _is_perfect(state: Any) -> bool:
    return max(state.program_full_scores_val_set, default=0.0) >= 1.0


class _Silent:
    """A logger that discards messages, which GEPA otherwise writes to standard output."""

    def log(self, message: str) -> None:
        del message


def _gepa() -> Callable[..., Any]:
    try:
        from gepa.api import optimize
    except ImportError:
        raise UsageError(
            "proposing prompts needs the package gepa, which is not installed",
            remedy=extra_remedy("calibrate"),
        ) from None
    return optimize
