"""The tools of the sandbox itself: a shell, and files read and written."""

from harness.case.sourcing.declared import SandboxTools
from harness.values import JsonObject

SHELL = "shell"
READ_FILE = "read_file"
WRITE_FILE = "write_file"

_PATH: JsonObject = {"type": "string", "minLength": 1, "description": "Absolute, or relative to the working directory."}
_TOOLS: dict[str, JsonObject] = {
    SHELL: {
        "description": "Runs a command with sh in the working directory: its exit status and what it wrote.",
        "effect": "write",
        "parameters": {
            "type": "object",
            "properties": {"command": {"type": "string", "minLength": 1, "description": "What sh is given."}},
            "required": ["command"],
            "additionalProperties": False,
        },
    },
    READ_FILE: {
        "description": "The text of a file.",
        "effect": "read",
        "parameters": {
            "type": "object",
            "properties": {"path": _PATH},
            "required": ["path"],
            "additionalProperties": False,
        },
    },
    WRITE_FILE: {
        "description": "Writes a file, with its folders; what it held before is gone.",
        "effect": "write",
        "parameters": {
            "type": "object",
            "properties": {"path": _PATH, "content": {"type": "string"}},
            "required": ["path", "content"],
            "additionalProperties": False,
        },
    },
}


def sandbox_tools(group: SandboxTools) -> list[JsonObject]:
    """The group's tools as a suite would declare them. Raises ValueError for an unknown one."""
    unknown = sorted({*group.sandbox, *group.override} - set(_TOOLS))
    if unknown:
        raise ValueError(f"the sandbox has no tool {', '.join(unknown)}: it has {', '.join(_TOOLS)}")
    return [
        {
            "name": group.prefix + name,
            **_TOOLS[name],
            "server": group.server,
            "source": "sandbox",
            "source_name": name if group.prefix else None,
            **group.override.get(name, {}),
        }
        for name in group.sandbox
    ]
