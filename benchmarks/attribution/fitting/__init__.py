"""How the evidence's weights are found: runs looked at once, a convex fit, temperatures and a threshold."""
