"""What the use cases need of the world: one module per role; what fulfils it has the same name in aws/."""
