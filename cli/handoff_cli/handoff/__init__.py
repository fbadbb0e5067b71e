"""Hand a session over: prepare, upload, request, follow, report."""
