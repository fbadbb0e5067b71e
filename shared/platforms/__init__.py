"""Chat platforms behind one port, one module per SDK, loaded only when used."""
