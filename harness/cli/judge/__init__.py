"""`harness judge`: rubrics, judges and their prompts, one module a subcommand."""
