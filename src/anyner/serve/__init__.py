"""The HTTP server of `anyner serve`, on the one `Recognizer`. Needs the extra `serve`."""
