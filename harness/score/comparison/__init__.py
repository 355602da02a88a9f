"""Values and calls compared: equality of JSON, arguments by their schema, calls aligned with a reference."""
