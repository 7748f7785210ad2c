"""Water filling: one server, one pool, server after server."""
