"""A suite's folder read into values; errors name file, line and field."""
