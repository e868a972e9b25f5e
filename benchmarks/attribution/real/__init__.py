"""Real faults on a real vLLM: what `otel-attrib why` and installable rivals say of each."""
