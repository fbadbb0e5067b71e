"""Questions of the user's own agent in its thread: shown with buttons, answered by the session's user, shown as over."""
