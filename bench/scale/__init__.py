"""A day of many handoffs, messages and files on AWS, in virtual time: what breaks first, and what it costs."""
