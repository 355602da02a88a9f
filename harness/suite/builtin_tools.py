"""The tools that the harness brings: the sandbox's shell and files, and the trial's browser."""

from harness.suite.tool_groups import BrowserTools, SandboxTools
from harness.values import JsonObject

SHELL = "shell"
READ_FILE = "read_file"
WRITE_FILE = "write_file"

_PATH: JsonObject = {"type": "string", "minLength": 1, "description": "Absolute, or relative to the working directory."}
_SANDBOX_TOOLS: dict[str, JsonObject] = {
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
    unknown = sorted({*group.sandbox, *group.override} - set(_SANDBOX_TOOLS))
    if unknown:
        raise ValueError(f"the sandbox has no tool {', '.join(unknown)}: it has {', '.join(_SANDBOX_TOOLS)}")
    return [
        {
            "name": group.prefix + name,
            **_SANDBOX_TOOLS[name],
            "server": group.server,
            "source": "sandbox",
            "source_name": name if group.prefix else None,
            **group.override.get(name, {}),
        }
        for name in group.sandbox
    ]


# The tools of the trial's browser: pages opened, clicked, typed into and read.

OPEN = "open"
CLICK = "click"
TYPE = "type"
READ = "read"

_TARGET: JsonObject = {
    "type": "string",
    "minLength": 1,
    "maxLength": 2000,
    "description": 'What on the page is meant: `role=button[name="Add to cart"]`, `text=Checkout`, or a CSS selector '
    "such as `#email`. It must mean one element.",
}


def _parameters(*required: str, **properties: JsonObject) -> JsonObject:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(required),
        "additionalProperties": False,
    }


_BROWSER_TOOLS: dict[str, JsonObject] = {
    OPEN: {
        "description": "Opens a page in the browser: where it led, and its title.",
        "effect": "read",
        "parameters": _parameters("url", url={"type": "string", "minLength": 1, "maxLength": 8000}),
    },
    CLICK: {
        "description": "Clicks an element of the page, and waits until the page has settled.",
        "effect": "write",
        "parameters": _parameters(
            "target",
            target=_TARGET,
            dialog={
                "type": "string",
                "enum": ["accept", "dismiss"],
                "default": "dismiss",
                "description": "What is answered if the page asks a question.",
            },
        ),
    },
    TYPE: {
        "description": "Puts a text into a field in place of what it held, or chooses it in a list.",
        "effect": "write",
        "parameters": _parameters(
            "target",
            "text",
            target=_TARGET,
            text={"type": "string", "maxLength": 20_000},
            submit={"type": "boolean", "default": False, "description": "Press Enter afterwards."},
        ),
    },
    READ: {
        "description": "The page as an outline of roles, names and texts, or one part of it. "
        '`- button "Add to cart"` is the target `role=button[name="Add to cart"]`.',
        "effect": "read",
        "parameters": _parameters(target=_TARGET),
    },
}


def browser_tools(group: BrowserTools) -> list[JsonObject]:
    """The group's tools as a suite would declare them. Raises ValueError for one that there is not."""
    unknown = sorted({*group.browser, *group.override} - set(_BROWSER_TOOLS))
    if unknown:
        raise ValueError(f"the browser has no tool {', '.join(unknown)}: it has {', '.join(_BROWSER_TOOLS)}")
    return [
        {
            "name": group.prefix + name,
            **_BROWSER_TOOLS[name],
            "server": group.server,
            "source": "browser",
            "source_name": name,
            "timeout_s": 60.0,
            **group.override.get(name, {}),
        }
        for name in group.browser
    ]
