"""Sessions and their transcripts."""
