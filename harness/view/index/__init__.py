"""What the app knows of each run without opening it again."""
