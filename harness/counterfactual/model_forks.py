"""A fork by another prompt or another model: what the agent's requests say otherwise from a step on.

The agent itself stays as it is, prompts included, so that it does the same up to the step; the gateway replaces the
prompt's text in its later requests.
"""

import json
from collections.abc import Mapping

from harness.case import ModelChange, TextChange, prompt_texts
from harness.counterfactual.subject import StoredSubject
from harness.errors import UsageError

SYSTEM = "system"
"""The name of the case's own system prompt."""


def model_change(subject: StoredSubject, step: int, model: str | None, prompts: Mapping[str, str]) -> ModelChange:
    """The change of a fork at `step`: `prompts` maps prompts of the agent, or `system`, to their new texts; the name ""
    stands for the only one that there is.

    Raises UsageError for a suite without a model, an unknown prompt, and one that the agent never sent.
    """
    if subject.suite.model is None:
        raise UsageError(
            f"suite {subject.suite.name!r} has no model, so that neither its name nor a prompt can be changed",
            remedy="declare `model:` in the suite, and let the agent ask it through the gateway",
        )
    before = [one for one in subject.trial.trajectory.steps if one.index < step]
    return ModelChange(
        requests_before=sum(one.model is not None for one in before),
        model=model,
        texts=tuple(_text_change(subject, name, text) for name, text in prompts.items()),
    )


def _text_change(subject: StoredSubject, name: str, text: str) -> TextChange:
    known = _prompts(subject)
    if not name and len(known) == 1:
        name = next(iter(known))
    if name not in known:
        raise UsageError(
            f"agent {subject.manifest.agent!r} has no prompt {name!r}" if name else "say which prompt is changed",
            remedy=f"--prompt NAME=FILE; its prompts: {', '.join(known) or 'none: declare `prompts:` in suite.yaml'}",
        )
    was = known[name].strip()
    if not was or not _was_sent(subject, was):
        raise UsageError(
            f"the text of prompt {name!r} does not stand in any request of trial {subject.name} to its model",
            remedy="a prompt that the agent fills in or shortens cannot be replaced at the gateway: make it an agent"
            " version of its own, and fork with --agent VERSION",
        )
    return TextChange(before=was, after=text.strip())


def _prompts(subject: StoredSubject) -> dict[str, str]:
    """Name -> text, of the agent's declared prompt files and the case's system prompt."""
    found = {} if subject.case.system is None else {SYSTEM: subject.case.system}
    return {**prompt_texts(subject.as_it_ran, subject.manifest.agent), **found}


def _was_sent(subject: StoredSubject, text: str) -> bool:
    escaped = json.dumps(text, ensure_ascii=False)[1:-1]
    sent = json.dumps([span.attributes for span in subject.stored.spans], ensure_ascii=False)
    # Messages are stored as JSON texts within the attributes.
    return escaped in sent or json.dumps(escaped, ensure_ascii=False)[1:-1] in sent
