"""The distribution that the harness is installed from: its name, its origin, and how to add an extra.

The name on a public index belongs to whoever registers it. No message, document or generated file therefore installs by
the bare name; an extra is added from the origin of this installation.
"""

import json
from importlib import metadata
from urllib.parse import unquote, urlsplit

DISTRIBUTION = "trial-harness"
"""The project's name in pyproject.toml. The command and the import package are both called `harness`."""


def extra_remedy(extra: str) -> str:
    """The command that adds an optional dependency to this installation, as the remedy of an error message.

    The place is read from `direct_url.json` (PEP 610): a folder, an archive or a commit. Without one, the place is not
    known and no command is made up.
    """
    origin = _origin()
    if origin is None:
        return f'install the extra `{extra}` from where this harness was installed from (README.md, "Install")'
    url, editable = origin
    if editable:
        return f"pip install --editable '{unquote(urlsplit(url).path)}[{extra}]'"
    return f"pip install '{DISTRIBUTION}[{extra}] @ {url}'"


def _origin() -> tuple[str, bool] | None:
    """The requirement URL that this installation came from, and whether it is an editable source folder."""
    try:
        text = metadata.distribution(DISTRIBUTION).read_text("direct_url.json")
        said = json.loads(text) if text else None
        if said is None:
            return None
        url, version_control = said["url"], said.get("vcs_info")
        if version_control is not None:
            url = f"{version_control['vcs']}+{url}@{version_control['commit_id']}"
        return url, bool(said.get("dir_info", {}).get("editable"))
    except (metadata.PackageNotFoundError, ValueError, KeyError, TypeError, AttributeError):
        return None
