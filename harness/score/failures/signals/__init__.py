"""What detectors read in a trajectory: claims, repetition, progress, hand-overs, and the sources of values."""
