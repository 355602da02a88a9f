"""Model endpoints of a session: the wire formats of OpenAI and Anthropic, replayed, recorded or passed through."""
