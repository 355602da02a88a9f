"""Verbs that set up a project and the machine: templates, workflows, images, snapshots, schemas."""
