"""`python -m anyner` is the command line."""

from anyner.cli.main import run

run()
