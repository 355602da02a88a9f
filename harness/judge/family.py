"""Model families: a judge of the agent's own family tends to like what its family writes."""

import re
from collections.abc import Iterable
from typing import Final

_FAMILIES: Final = {
    "openai": r"gpt|chatgpt|o[1-9](?:-|$)|davinci|codex",
    "anthropic": r"claude",
    "google": r"gemini|gemma|palm",
    "meta": r"llama",
    "qwen": r"qwen|qwq",
    "mistral": r"mistral|mixtral|ministral|magistral|codestral",
    "deepseek": r"deepseek",
    "xai": r"grok",
    "cohere": r"command",
    "moonshot": r"kimi",
    "zhipu": r"glm",
    "microsoft": r"phi-?\d",
    "amazon": r"nova-|titan",
}


def family_of(model: str) -> str | None:
    """The family by the model's name, wherever it is served (`openrouter/anthropic/claude-x`); None: not known."""
    name = model.lower().rsplit("/", 1)[-1]
    return next(
        (family for family, pattern in _FAMILIES.items() if re.search(rf"(?:^|[^a-z])(?:{pattern})", name)), None
    )


def shared_family(judge: str, agents: Iterable[str]) -> str | None:
    """The family that the judge has in common with one of the agent's models; None: there is none that is known."""
    own = family_of(judge)
    return own if own is not None and own in {family_of(model) for model in agents} else None
