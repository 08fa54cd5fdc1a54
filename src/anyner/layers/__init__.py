"""Network parts that several heads share."""
