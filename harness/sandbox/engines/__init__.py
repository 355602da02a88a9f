"""Container engines that answer Docker's API: which one it is, and in what it differs from Docker."""
