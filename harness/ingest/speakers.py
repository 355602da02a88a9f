"""Who speaks in a message: roles of chat formats, and names of agents where a log has several.

`human` is the user, `ai` and `gpt` are the agent. A role that is none of a chat's is the name of an agent: `WebSurfer`,
`Orchestrator (-> WebSurfer)`. A terminal that runs what the agents write is not an agent.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

Role = Literal["system", "user", "assistant", "tool"]

_ROLES: Mapping[str, Role] = MappingProxyType(
    {
        "system": "system", "developer": "system", "user": "user", "human": "user", "assistant": "assistant",
        "ai": "assistant", "gpt": "assistant", "model": "assistant", "agent": "assistant", "bot": "assistant",
        "chatbot": "assistant",
        "tool": "tool", "function": "tool", "observation": "tool", "tool-response": "tool", "environment": "tool",
    }
)  # fmt: skip
_MACHINE = re.compile(r"(?i)(?:computer[ _-]?)?terminal|(?:code[ _-]?)?executor|environment")
_NAME = re.compile(r"[A-Za-z][\w .-]{0,60}?(?=\s*(?:\(.{0,80}\))?\s*\Z)", re.S)


@dataclass(frozen=True, kw_only=True)
class Speaker:
    """The role, and the agent's name where the log names it."""

    role: Role
    agent: str | None = None


def is_group(names: Collection[str | None]) -> bool:
    """Whether the names of a log's messages are those of agents that talk: several, and no message without one."""
    return None not in names and len(set(names)) > 1


def speaker(role: str, name: str | None, *, in_group: bool) -> Speaker | None:
    """None where the role is neither known nor a name. `in_group`: see `is_group`; else a user's name is a person's."""
    known = _ROLES.get(role.strip().casefold())
    if name and in_group and known in ("user", "assistant"):
        is_person = known == "user" and name.strip().casefold() in ("user", "human", "user_proxy")
        return Speaker(role="user") if is_person else _named(name.strip())
    if known is not None:
        return Speaker(role=known)
    found = _NAME.match(role.strip())
    return _named(found.group().strip()) if found is not None else None


def _named(agent: str) -> Speaker:
    return Speaker(role="system" if _MACHINE.fullmatch(agent) else "assistant", agent=agent)
