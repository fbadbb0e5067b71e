"""Sessions and transcript files."""
