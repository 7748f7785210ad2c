"""Many users: Newton in prices along falling smoothing (docs/maths/many-users.md)."""
