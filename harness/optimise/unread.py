"""Refuses a component whose texts the agent's program does not open: no revision of them could change anything."""

from collections.abc import Callable, Collection, Sequence

from harness.errors import UsageError
from harness.optimise.candidates.candidate import Candidate
from harness.optimise.candidates.components import Component
from harness.optimise.rollouts.dry_trials import DryTrial
from harness.optimise.rollouts.rollout import Rollout
from harness.optimise.rollouts.rollout_cache import RolloutCache


def refuse_unopened(found: DryTrial, components: Sequence[Component], acting: Collection[str]) -> None:
    """Raises UsageError for a component none of whose files a dry trial opened; nothing is spent by then.

    `acting`: agents that an earlier run shows at work, which the dry trial may have failed to reach. Nothing is
    concluded of these, and where the program did not end by itself.
    """
    if not found.finished or found.texts_read is None:
        return
    for component in components:
        if component.tools or not component.files or component.name in acting:
            continue
        if not set(component.files) & set(found.texts_read):
            raise UsageError(
                f"the agent opens no text of the component {component.name!r}: {', '.join(component.files)}; a trial "
                "without a model has shown this, and nothing was spent",
                remedy="have the program open it in the folder of its files, or take the component out of "
                "`optimise.components`; where it is opened in some conversations alone, --from RUN names a run in "
                "which that agent acts",
            )


def refuse_unread(
    cache: RolloutCache,
    start: Candidate,
    components: Sequence[Component],
    cases: Sequence[str],
    say: Callable[[str], None],
) -> None:
    """Runs the texts in use on training cases, one first and the others where a text was not opened in it.

    The rollouts are kept for the search. Raises UsageError for a component none of whose files was opened in any of
    them; a file that was not opened beside others that were is said. Nothing is concluded where trials were not
    measured, or where what they open cannot be observed. Descriptions of tools are shown by the gateway, and are not
    checked.
    """
    read: set[str] = set()
    ran = 0
    for some in (cases[:1], cases[1:]):
        found = [one for one in cache.rollouts(start, some) if _measured(one)]
        if any(one.texts_read is None for one in found):
            say("whether the agent reads its texts cannot be observed in this sandbox")
            return
        ran += len(found)
        read.update(name for one in found for name in one.texts_read or ())
        if all(file in read for component in components for file in component.files):
            return
    for component in components if ran else ():
        unread = [file for file in component.files if file not in read]
        if unread == list(component.files) and unread and not component.tools:
            raise UsageError(
                f"the agent read no text of the component {component.name!r} in {ran} training trials: "
                f"{', '.join(unread)}",
                remedy="have the program open it in the folder of its files, or take the component out of "
                "`optimise.components`; where few cases need it, --minibatch tries more of them",
            )
        if unread:
            say(f"component {component.name}: not read in {ran} training trials: {', '.join(unread)}")


def _measured(rollout: Rollout) -> bool:
    return any(score is not None for score in rollout.domains.values())
