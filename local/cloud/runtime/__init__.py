"""Lambda's runtime: runs each function in awslambdaric processes, driven through the Runtime API."""
