"""Simulated users: scripted, played by a model, or played back from a log; and the check of their fidelity."""

from typing import TYPE_CHECKING

from harness.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from harness.simulate.log import LoggedCall as LoggedCall
    from harness.simulate.log import LoggedTurn as LoggedTurn
    from harness.simulate.log import UserLog as UserLog
    from harness.simulate.log import log_of_trajectory as log_of_trajectory
    from harness.simulate.log import read_user_log as read_user_log
    from harness.simulate.plan_check import contradictions as contradictions
    from harness.simulate.users import BUILT_IN as BUILT_IN
    from harness.simulate.users import USERS as USERS
    from harness.simulate.users import SimulatedUsers as SimulatedUsers
    from harness.simulate.users import UserOptions as UserOptions
    from harness.simulate.users import asked_models as asked_models
    from harness.simulate.users import kind_of as kind_of
    from harness.simulate.users import users_of as users_of
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "log": ("LoggedCall", "LoggedTurn", "UserLog", "log_of_trajectory", "read_user_log"),
            "plan_check": ("contradictions",),
            "users": ("BUILT_IN", "SimulatedUsers", "USERS", "UserOptions", "asked_models", "kind_of", "users_of"),
        },
    )
