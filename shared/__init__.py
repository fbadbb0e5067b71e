"""The core of Handoff and its adapters: everything that the functions share."""
