"""Pages are tested as doctests; what Sphinx writes and its settings are not pages."""

collect_ignore_glob = ["gallery/*", "api/*", "_build/*", "_ext/*", "conf.py"]
