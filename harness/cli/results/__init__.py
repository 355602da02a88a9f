"""The verbs that read, compare, import and export stored runs."""
