"""Agents behind one port, one module each, loaded only when used."""
