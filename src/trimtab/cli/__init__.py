"""The `trimtab` command, a file per subcommand; `app` puts them together."""

from trimtab.cli.app import main

__all__ = ["main"]
