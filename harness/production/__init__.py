"""Production sessions: received, stored, scored and watched; their failures grouped into themes."""
