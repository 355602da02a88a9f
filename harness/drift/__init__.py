"""Live against recorded: what changed in the tools, and how sure we are."""
