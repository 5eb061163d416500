"""The ``foxbench`` command: one file a subcommand, each thin."""
