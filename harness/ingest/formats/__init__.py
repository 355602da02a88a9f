"""One file a format: what its records look like, and nothing that the formats share."""
