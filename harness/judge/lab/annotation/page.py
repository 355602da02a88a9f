"""The annotation page: one document; its content security policy allows only its own style and program, by their
digests.
"""

import base64
import hashlib
from functools import cache
from importlib.resources import files

from harness.palette import palette


@cache
def page() -> tuple[str, str]:
    """The document and its content security policy."""
    style, program = palette() + _asset("style.css"), _asset("program.js")
    policy = (
        f"default-src 'none'; style-src '{_digest(style)}'; script-src '{_digest(program)}'; connect-src 'self';"
        " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    document = _asset("page.html").replace("{style}", style).replace("{program}", program)
    return document, policy


def _asset(name: str) -> str:
    return (files("harness.judge.lab.annotation") / "assets" / name).read_text(encoding="utf-8")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
