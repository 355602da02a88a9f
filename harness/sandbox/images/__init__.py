"""Images of containers: their recipe, their packages, how they are built and transferred to other machines."""
