"""The words and tables everything else agrees on."""
