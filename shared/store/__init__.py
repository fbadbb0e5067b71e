"""The store, written once on the `Tables` port: each transition is one conditional write or transaction."""
