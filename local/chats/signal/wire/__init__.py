"""The HTTP interface of signal-cli's daemon."""
