"""Use cases of the service, one verb per file, on store and ports; no cloud and no chat SDK."""
