"""Configures an unchanged agent's models: the environment variables that the providers' own clients read."""

from collections.abc import Mapping

from harness.case import ModelSpec

_DUMMY_KEY = "harness"
"""Clients refuse to start without a key; the real one is added in the gateway."""


def model_environment(gateway_url: str | None, spec: ModelSpec) -> Mapping[str, str]:
    """The variables for the agent's program; empty where the gateway has no address.

    Those of Gemini and Azure are set for declared providers only.
    """
    if gateway_url is None:
        return {}
    variables = {
        "OPENAI_BASE_URL": f"{gateway_url}/v1",
        "OPENAI_API_BASE": f"{gateway_url}/v1",
        "OPENAI_API_KEY": _DUMMY_KEY,
        "ANTHROPIC_BASE_URL": gateway_url,
        "ANTHROPIC_API_KEY": _DUMMY_KEY,
        "OTEL_EXPORTER_OTLP_ENDPOINT": gateway_url,
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
    }
    if "gemini" in spec.providers:
        variables |= {"GOOGLE_GEMINI_BASE_URL": gateway_url, "GEMINI_API_KEY": _DUMMY_KEY}
    if "azure" in spec.providers:
        variables |= {"AZURE_OPENAI_ENDPOINT": gateway_url, "AZURE_OPENAI_API_KEY": _DUMMY_KEY}
    return variables
