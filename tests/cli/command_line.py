"""Running the command line inside the test process."""

from __future__ import annotations

from dataclasses import dataclass

from typer.testing import CliRunner

from anyner.cli.main import app


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str

    def assert_one_line(self, *parts: str) -> None:
        """A failure with exactly one line on stderr that holds all the parts, and nothing on stdout."""
        assert self.code == 1, (self.code, self.out, self.err)
        assert self.err.count("\n") == 1 and self.err.startswith("anyner: "), self.err
        assert "Traceback" not in self.err
        assert self.out == ""
        for part in parts:
            assert part in self.err, (part, self.err)


def anyner_command(*arguments: object, stdin: str | bytes | None = None) -> Answer:
    result = CliRunner().invoke(app, [str(one) for one in arguments], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Answer(result.exit_code, result.stdout, result.stderr)
