"""One command a module, named like the command with a trailing underscore; listed in `otel_attrib.cli`."""
