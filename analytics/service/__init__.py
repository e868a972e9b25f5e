"""Questions over HTTP: who may ask, what one question may cost, and how its answer is told."""
