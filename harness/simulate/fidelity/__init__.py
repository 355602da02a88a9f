"""What a simulated user gets wrong, by rules; and what an agent does to make it go wrong."""
