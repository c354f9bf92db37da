"""Views: pixels for every oriented street, rendered from the streets themselves."""
