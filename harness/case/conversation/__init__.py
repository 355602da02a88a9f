"""Conversations: who plays the user, how, and what the user says."""
