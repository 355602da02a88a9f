"""Task folders of Harbor's format: their images without a registry, and the initial files of their sandboxes."""
