"""The edges: translate an event in, call one use case, translate the answer out."""
