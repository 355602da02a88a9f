"""What a case lays over its tools' answers: fixture packs, and faults on purpose. No tape is touched."""
