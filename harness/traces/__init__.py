"""What happened: spans and trajectories; importers and exporters of other formats."""
