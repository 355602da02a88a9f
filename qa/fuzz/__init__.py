"""Nearly valid input for every reader: each reads it, or refuses it with words that help; nothing else may happen."""
