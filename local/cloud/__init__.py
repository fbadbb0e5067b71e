"""Runs a SAM template on one machine: moto with patches, event sources, the Lambda runtime."""
