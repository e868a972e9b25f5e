"""Questions asked of stored requests, answered with how sure the answer is."""
