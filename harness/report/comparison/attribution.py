"""Attributes a change between two runs to the parts that differ, and names the run that would separate them."""

from collections.abc import Mapping, Sequence
from typing import Literal

from harness.results import RunManifest
from harness.score import Scorecard
from harness.values import Frozen

_DIGEST_DIGITS = 64

Part = Literal["agent", "variables", "prompt", "model", "tools", "snapshot", "conditions"]

_CONDITIONS = ("tool_mode", "model_mode", "replay", "provider", "packages_digest", "pins", "run_suite_digest")


class PartChange(Frozen):
    """A part that differs between the runs."""

    part: Part
    before: str
    after: str


class Attribution(Frozen):
    """`agent`: its code and declaration apart from declared prompts and from the values of its variables, which are
    `variables` except where the observed models are these values. `prompt`: its declared prompt files or, where it
    declares none, the system messages seen in the model traffic. `model`: the observed models. `conditions`: the
    sources of answers, the kind of sandbox, the pinned values.
    """

    changed: tuple[PartChange, ...]
    separating: tuple[str, ...] = ()
    """Descriptions of the runs that would separate the parts, where several changed."""

    @property
    def verdict(self) -> str:
        """A description of the parts that a changed score can be attributed to."""
        names = [one.part for one in self.changed]
        if not names:
            return "no part differs that could change a score: the changes are noise"
        if len(names) == 1:
            several = names[0].endswith("s")
            verb, it = ("differ", "them") if several else ("differs", "it")
            return f"only the {names[0]} {verb}: a change is caused by {it} or by noise"
        return f"{', '.join(names[:-1])} and {names[-1]} differ: one comparison cannot tell them apart"


def attribute(
    before: RunManifest, before_cards: Sequence[Scorecard], after: RunManifest, after_cards: Sequence[Scorecard]
) -> Attribution:
    """Attributes by the digests of the manifests, and by the models and prompts in the scorecards."""
    old, new = _parts(before, before_cards), _parts(after, after_cards)
    if before.code_digest is None or after.code_digest is None:
        old["agent"], new["agent"] = before.agent_digest, after.agent_digest
    if _only_name_models(before, before_cards, after) and _only_name_models(after, after_cards, before):
        del old["variables"], new["variables"]
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
        "variables": ", ".join(f"{name}={value}" for name, value in sorted(manifest.variables.items())) or None,
        "prompt": _versions(manifest) or manifest.prompt_digest or ", ".join(short_prompt(one) for one in seen) or None,
        "model": ", ".join(models) or None,
        "tools": manifest.tools_digest,
        "snapshot": manifest.snapshot_digest,
        "conditions": _condition_words(conditions),
    }


def _versions(manifest: RunManifest) -> str | None:
    """Versions of prompts by name; the digest covers files that have none."""
    if not manifest.prompts:
        return None
    return f"{', '.join(sorted(set(manifest.prompts.values())))} ({(manifest.prompt_digest or '')[:12]})"


def _only_name_models(manifest: RunManifest, cards: Sequence[Scorecard], other: RunManifest) -> bool:
    """Whether the value of each differing variable names an observed model, such as `gpt-5` for `gpt-5-2026-01-31`: the
    difference is then already described by the models.
    """
    models = {model for card in cards for model in card.models}
    own = [value for name, value in manifest.variables.items() if other.variables.get(name) != value]
    return all(any(model.startswith(value) for model in models) for value in own)


def _condition_words(conditions: Mapping[str, object]) -> str:
    return "; ".join(f"{name} {value}" for name, value in sorted(conditions.items()) if value not in (None, {}))


def _separating(one: PartChange, before: RunManifest, after: RunManifest) -> str:
    """Describes the run that differs from `before` in this part only."""
    place = f" (harness run {before.suite} --agent {after.agent})" if one.part == "agent" else ""
    return (
        f"a run with the {one.part} of {after.run} and all else as in {before.run}{place}: "
        f"compared with {before.run}, it shows the effect of the {one.part}"
    )


def _short(value: str | None) -> str:
    if value is None:
        return "none"
    return value[:12] if len(value) == 64 and set(value) <= set("0123456789abcdef") else value


def short_prompt(prompt: str) -> str:
    """The displayed form of a prompt: its name and version, or the beginning of its digest."""
    return prompt if "@" in prompt or len(prompt) != _DIGEST_DIGITS else prompt[:12]
