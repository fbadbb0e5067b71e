"""What looks after the data of a service on one machine, whether it runs or not."""
