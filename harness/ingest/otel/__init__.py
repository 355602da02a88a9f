"""OpenTelemetry traces: from files to spans, from spans to messages, from messages to steps."""
