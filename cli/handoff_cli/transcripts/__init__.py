"""Transcripts: messages, transcript files, likely secrets."""
