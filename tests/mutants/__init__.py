"""Small faults in the product, each of which the tests must notice: `make mutants`."""
