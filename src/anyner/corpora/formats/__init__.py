"""The corpus formats, one module each; `reading.FORMATS` lists them all."""
