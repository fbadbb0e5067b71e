"""Telegram on this machine."""
