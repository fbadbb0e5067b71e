"""The AWS endpoint: an HTTP server on loopback that checks signatures and passes requests on to moto."""
