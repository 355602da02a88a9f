"""Real hosts to which an agent itself sends HTTP(S) requests."""
