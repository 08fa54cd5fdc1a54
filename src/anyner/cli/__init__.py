"""The command line: one thin file per command."""

import os

# Pydantic's plugin search reads the metadata of every installed package: a seventh of the time to the first entities.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
