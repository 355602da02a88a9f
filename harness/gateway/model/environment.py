"""Configures an unchanged agent's models: the environment variables that the providers' own clients read."""

from collections.abc import Mapping

from harness.case import ModelSpec

_DUMMY_KEY = "harness"
"""Clients refuse to start without a key; the real one is added in the gateway."""
_ANY_REGION = "us-east-1"


def model_environment(gateway_url: str | None, spec: ModelSpec) -> Mapping[str, str]:
    """The variables for the agent's program; empty where the gateway has no address.

    Those of Gemini, Azure and AWS are set for declared providers only: an agent without them may use AWS's for another
    service.
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
    if "bedrock" in spec.providers:
        region = spec.providers["bedrock"].region or _ANY_REGION
        variables |= {
            "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": gateway_url,
            "AWS_ACCESS_KEY_ID": _DUMMY_KEY,
            "AWS_SECRET_ACCESS_KEY": _DUMMY_KEY,
            "AWS_REGION": region,
            "AWS_DEFAULT_REGION": region,
        }
    return variables
