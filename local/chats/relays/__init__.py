"""Relays forward events of real platforms to the webhook function, without a tunnel."""
