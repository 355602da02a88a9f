"""What a case lays over its tools' answers: fixture packs, and faults on purpose. No cassette is touched."""
