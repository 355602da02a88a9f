"""`harness optimise`: optimises an agent's prompts."""
