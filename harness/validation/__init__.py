"""Whether texts and values fit what suites, tools and rubrics say of them, told within a limit of processor time."""
