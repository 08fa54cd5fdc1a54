"""The one exception users see: its message is a single line that names what to change."""


class AnynerError(Exception):
    """Bad input, a bad setting or a broken file. The message is one clear line; the command line prints it and exits."""


class InvalidInputError(AnynerError, ValueError):
    """Text or annotation that cannot be represented: a fragment out of range, a reversed fragment, a lone surrogate."""
