"""A server of the Model Context Protocol, for agents that have no hooks: there the model is asked, and calls a tool."""
