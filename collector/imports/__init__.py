"""Files into the store: OTLP as exporters write it, and tables of requests from anywhere."""
