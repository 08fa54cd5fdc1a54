"""anyner inside other libraries: each file needs its library, and all of them call the one `Recognizer`."""
