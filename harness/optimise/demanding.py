"""What a suite's rollouts and its reflector use at least, read from declarations: texts, models, prices, rules."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from harness.case import Suite
from harness.judge import JudgeSettings
from harness.optimise.candidates.components import Component, tokens_of
from harness.optimise.outcome import Mode
from harness.optimise.searching.reflector import ReflectionRequest
from harness.optimise.searching.rule_reflector import read_rule_book
from harness.optimise.sizing import LEAST_REVISIONS, LeastUse, RolloutDemand

_TOKENS_OF_PRICE = 1_000_000


def demand_of(
    suite: Suite,
    components: Sequence[Component],
    texts: Mapping[str, str],
    reflector: JudgeSettings | Path,
    mode: Mode,
) -> RolloutDemand:
    """`components`: those that are revised; `texts`: all texts in use by name."""
    revised = {name: texts[name] for component in components for name in component.texts}
    if isinstance(reflector, Path):
        book = read_rule_book(reflector)
        edits = [book.edits(text) for text in revised.values()]
        return RolloutDemand(
            rollout=_rollout(suite, components, texts, mode),
            request=LeastUse(),
            revisions=max(LEAST_REVISIONS, max(edits) if mode == "joint" else sum(edits)),
        )
    return RolloutDemand(
        rollout=_rollout(suite, components, texts, mode),
        request=_request(reflector, components, revised),
        revisions=LEAST_REVISIONS * (1 if mode == "joint" else len(revised)),
    )


def _rollout(suite: Suite, components: Sequence[Component], texts: Mapping[str, str], mode: Mode) -> LeastUse:
    """One request of the agent that holds the texts of the component that is asked: in joint mode by the user."""
    model = suite.model
    if model is None:
        return LeastUse()
    asked = [one for one in components if mode == "agent" or not one.called_by]
    tokens = min((sum(tokens_of(texts[file]) for file in one.files) for one in asked), default=0)
    prices = [model.price_of(name) for name in model.models] if model.models else list(model.prices.values())
    known = [one.input_usd_per_mtok for one in prices if one is not None]
    usd = min(known, default=0.0) * tokens / _TOKENS_OF_PRICE if len(known) == len(prices) else 0.0
    return LeastUse(usd=usd, tokens=tokens, calls=1)


def _request(reflector: JudgeSettings, components: Sequence[Component], revised: Mapping[str, str]) -> LeastUse:
    """The shortest request without feedback, which is answered with a text that is about as long."""
    sizes = list(_sizes(components, revised))
    read, written = min(sizes, default=(0, 0))
    price = reflector.spec.price_of(reflector.model)
    usd = 0.0
    if price is not None:
        usd = (read * price.input_usd_per_mtok + written * price.output_usd_per_mtok) / _TOKENS_OF_PRICE
    return LeastUse(usd=usd, tokens=read + written, calls=1)


def _sizes(components: Sequence[Component], revised: Mapping[str, str]) -> Iterable[tuple[int, int]]:
    for component in components:
        for name in component.texts:
            request = ReflectionRequest(component=component, path=name, text=revised[name])
            yield tokens_of(request.prompt), tokens_of(revised[name])
