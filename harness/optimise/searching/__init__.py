"""The search for better candidates: optimisers, reflectors, objectives, and the line of descent."""
