"""One file a case; `registry.cases` collects them."""
