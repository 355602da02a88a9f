"""Model families: a judge of the agent's own family tends to prefer texts of its family."""

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
    """The family by the model's name, whoever serves it (`openrouter/anthropic/claude-x`); None: unknown."""
    name = model.lower().rsplit("/", 1)[-1]
    return next(
        (family for family, pattern in _FAMILIES.items() if re.search(rf"(?:^|[^a-z])(?:{pattern})", name)), None
    )


def shared_family(judge: str, agents: Iterable[str]) -> str | None:
    """The family that the judge shares with one of the agent's models; None: no known family is shared."""
    judge_family = family_of(judge)
    return judge_family if judge_family is not None and judge_family in {family_of(model) for model in agents} else None
