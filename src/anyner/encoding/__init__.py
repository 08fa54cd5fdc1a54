"""Windows in, states out."""
