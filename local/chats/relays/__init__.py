"""From real platforms to the webhook function on a laptop, with no tunnel; the Discord one also serves deployments."""
