"""Running: agents as programs, one trial from restore to record, and the pool that fills the machine."""
