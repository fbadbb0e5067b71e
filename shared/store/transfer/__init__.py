"""Everything that lasts, from one pair of tables to another: users, sessions, transcripts, routes, ended handoffs."""
