"""Discord's REST API, Gateway and interactions."""
