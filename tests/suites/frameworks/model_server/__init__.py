"""A deterministic model behind the three wire formats: what frameworks are proved with where no provider answers."""
