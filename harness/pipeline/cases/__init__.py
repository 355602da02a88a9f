"""Cases made of stored trials and of production sessions, and the check that a case is sound."""
