"""Care for the data of a service on one machine, whether it runs or not."""
