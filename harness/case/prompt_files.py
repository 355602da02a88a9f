"""The texts of the prompt files that an agent declares."""

from pathlib import Path

from harness.case.suite import Suite
from harness.disk import is_file


def prompt_texts(suite: Suite, agent: str) -> dict[str, str]:
    """File, as `prompts` names it -> its text now, or that of the version in its place; files that are gone are left
    out, and a built-in agent has none.
    """
    declared = suite.agents.get(agent)
    if declared is None or declared.files is None:
        return {}
    folder: Path = suite.folder / declared.files
    files = {name: folder / name for name in declared.prompts if is_file(folder / name)}
    versions = {one.file: one.text for one in suite.agent_prompts if one.agent == agent}
    return {name: path.read_text(encoding="utf-8", errors="replace") for name, path in files.items()} | versions
