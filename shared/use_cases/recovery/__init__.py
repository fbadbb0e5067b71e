"""Recovery: everything that continues or ends what a process, a machine or a platform has left unfinished."""
