"""Runs agents as programs: one trial from restore to record, and the pool of parallel trials."""

from typing import TYPE_CHECKING

from harness.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from harness.runner.agent import Agent as Agent
    from harness.runner.agents import open_agent as open_agent
    from harness.runner.browsers import BrowserFactory as BrowserFactory
    from harness.runner.machine import jobs_held as jobs_held
    from harness.runner.machine import processors as processors
    from harness.runner.machine import trials_held as trials_held
    from harness.runner.pool import TaskSlots as TaskSlots
    from harness.runner.pool import run_all as run_all
    from harness.runner.trial import TrialRunner as TrialRunner
    from harness.runner.trial import failed_trial as failed_trial
    from harness.runner.unreadable import UNREADABLE as UNREADABLE
    from harness.runner.unreadable import described as described
    from harness.runner.unreadable import unreadable_trial as unreadable_trial
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "agent": ("Agent",),
            "agents": ("open_agent",),
            "browsers": ("BrowserFactory",),
            "machine": ("jobs_held", "processors", "trials_held"),
            "pool": ("TaskSlots", "run_all"),
            "trial": ("TrialRunner", "failed_trial"),
            "unreadable": ("UNREADABLE", "described", "unreadable_trial"),
        },
    )
