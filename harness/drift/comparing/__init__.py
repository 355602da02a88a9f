"""Two answers to one question compared: their structure, their values, and what changes by itself."""
