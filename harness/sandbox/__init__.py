"""Sandboxes: images, sealed snapshots, services, and the containers that agents run in."""
