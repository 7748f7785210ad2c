"""Water filling: of one server, of one pool, and of one server after another."""
