"""Where the agent reads: one source a module, one `read()`; roots, clocks and libraries are arguments."""
