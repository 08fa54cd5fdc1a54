"""anyner inside other libraries: each module needs its library, and all of them call `Recognizer`."""
