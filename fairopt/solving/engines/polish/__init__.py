"""Make answers exact: Newton's method on the active set, for tasks and for levels."""
