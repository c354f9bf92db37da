"""Views: pixels for every oriented street, rendered from the streets themselves or cropped from panoramas."""
