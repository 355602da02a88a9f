"""Real hosts that an agent asks by HTTP(S) itself."""
