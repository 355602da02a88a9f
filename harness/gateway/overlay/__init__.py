"""What a case places over its tools' answers: fixture packs and injected faults. No cassette is modified."""
