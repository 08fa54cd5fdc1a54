"""The command line: one thin file a command."""

import os

# Looking for plugins of pydantic reads the metadata of every installed package: a seventh of the time to the first entities.
os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
