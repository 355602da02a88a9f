"""Live answers of tools compared with their recordings; differences filed as issues."""
