"""The same functions on a laptop: the cloud's services, its runtime, its event sources and the chat platforms."""
