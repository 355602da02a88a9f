"""The server: who may enter, what every answer carries, and which page answers an address."""
