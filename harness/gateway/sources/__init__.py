"""Where a tool's answers come from: a cassette, a real service, or a real service that is being recorded."""
