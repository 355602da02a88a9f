"""Containers, images, snapshots, services and end states."""
