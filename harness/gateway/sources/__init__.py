"""Sources of tool answers: a cassette, a real service, or a real service that is being recorded."""
