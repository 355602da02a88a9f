"""Attributes a change between two runs to the parts that differ, and names the run that would separate them."""

from collections.abc import Mapping, Sequence
from typing import Literal

from harness.results import RunManifest
from harness.score import Scorecard
from harness.values import Frozen

_DIGEST_DIGITS = 64

Part = Literal["agent", "prompt", "model", "tools", "snapshot", "conditions"]

_CONDITIONS = ("tool_mode", "model_mode", "replay", "provider", "packages_digest", "pins", "run_suite_digest")


class PartChange(Frozen):
    """A part that differs between the runs."""

    part: Part
    before: str
    after: str


class Attribution(Frozen):
    """`agent`: its code and declaration apart from declared prompts. `prompt`: its declared prompt files or, where it
    declares none, the system messages seen in the model traffic. `model`: the observed models. `conditions`: the
    sources of answers, the kind of sandbox, the pinned values.
    """

    changed: tuple[PartChange, ...]
    separating: tuple[str, ...] = ()
    """Descriptions of the runs that would separate the parts, where several changed."""

    @property
    def verdict(self) -> str:
        """In words what a changed score can be put down to."""
        names = [one.part for one in self.changed]
        if not names:
            return "nothing differs that could change a score: what changed is noise"
        if len(names) == 1:
            return f"only the {names[0]} differs: a change is down to it, or to noise"
        return f"{', '.join(names[:-1])} and {names[-1]} differ: one comparison cannot tell them apart"


def attribute(
    before: RunManifest, before_cards: Sequence[Scorecard], after: RunManifest, after_cards: Sequence[Scorecard]
) -> Attribution:
    """From the manifests' digests, and from the models and prompts that the scorecards saw."""
    old, new = _parts(before, before_cards), _parts(after, after_cards)
    if before.code_digest is None or after.code_digest is None:
        old["agent"], new["agent"] = before.agent_digest, after.agent_digest
    changed = tuple(
        PartChange(part=part, before=_short(old[part]), after=_short(new[part]))
        for part in old
        if old[part] != new[part]
    )
    several = changed if len(changed) > 1 else ()
    return Attribution(changed=changed, separating=tuple(_separating(one, before, after) for one in several[:-1]))


def _parts(manifest: RunManifest, cards: Sequence[Scorecard]) -> dict[Part, str | None]:
    seen = sorted({card.prompt for card in cards if card.prompt is not None})
    models = sorted({model for card in cards for model in card.models})
    conditions = manifest.model_dump(include=set(_CONDITIONS))
    return {
        "agent": manifest.code_digest,
        "prompt": manifest.prompt_digest or ", ".join(short_prompt(one) for one in seen) or None,
        "model": ", ".join(models) or None,
        "tools": manifest.tools_digest,
        "snapshot": manifest.snapshot_digest,
        "conditions": _condition_words(conditions),
    }


def _condition_words(conditions: Mapping[str, object]) -> str:
    return "; ".join(f"{name} {value}" for name, value in sorted(conditions.items()) if value not in (None, {}))


def _separating(one: PartChange, before: RunManifest, after: RunManifest) -> str:
    """All as before but this one part."""
    place = f" (harness run {before.suite} --agent {after.agent})" if one.part == "agent" else ""
    return (
        f"a run with the {one.part} of {after.run} and all else as in {before.run}{place}: "
        f"against {before.run} it shows what the {one.part} does"
    )


def _short(value: str | None) -> str:
    if value is None:
        return "none"
    return value[:12] if len(value) == 64 and set(value) <= set("0123456789abcdef") else value


def short_prompt(prompt: str) -> str:
    """A prompt as it is shown: its name and version, or the beginning of its digest."""
    return prompt if "@" in prompt or len(prompt) != _DIGEST_DIGITS else prompt[:12]
