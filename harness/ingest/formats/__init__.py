"""One module for each format: the structure of its records, without code that formats share."""
