"""The gateway: the only way out of a sandbox.

This module holds the values that others pass in and get back, and imports no server; `harness.gateway.gateway` is the
gateway itself.
"""

from typing import TYPE_CHECKING

from harness.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from harness.gateway.contract import ServiceOpener as ServiceOpener
    from harness.gateway.contract import SessionRecord as SessionRecord
    from harness.gateway.contract import SessionRequest as SessionRequest
    from harness.gateway.gateway import Gateway as Gateway
    from harness.gateway.model.environment import model_environment as model_environment
    from harness.gateway.session import TrialSession as TrialSession
    from harness.gateway.toolbox import Toolbox as Toolbox
    from harness.gateway.user import Cut as Cut
    from harness.gateway.user import Heard as Heard
    from harness.gateway.user import HeardCall as HeardCall
    from harness.gateway.user import ScriptedUser as ScriptedUser
    from harness.gateway.user import User as User
    from harness.gateway.user import UserContext as UserContext
    from harness.gateway.user import UserSource as UserSource
    from harness.gateway.web.allowed_hosts import allowed_hosts as allowed_hosts
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "contract": ("ServiceOpener", "SessionRecord", "SessionRequest"),
            "gateway": ("Gateway",),
            "model.environment": ("model_environment",),
            "session": ("TrialSession",),
            "toolbox": ("Toolbox",),
            "user": ("Cut", "Heard", "HeardCall", "ScriptedUser", "User", "UserContext", "UserSource"),
            "web.allowed_hosts": ("allowed_hosts",),
        },
    )
