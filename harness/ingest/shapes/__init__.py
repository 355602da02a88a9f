"""Messages and runs of other providers and frameworks, as the chat messages that say the same."""
