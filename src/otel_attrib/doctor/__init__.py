"""What `otel-attrib doctor` looks at: one small function a check, each entered in a table with its name."""
