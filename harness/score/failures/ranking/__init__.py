"""Which finding is reported first: confidence and causes, from fitted figures."""
