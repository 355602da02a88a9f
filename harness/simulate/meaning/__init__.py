"""Whether two turns of an agent mean the same, by rules: calls, slots, acts, and the words that are left."""
