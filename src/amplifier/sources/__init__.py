"""Where modules and bundles come from: fetched once, locked by content, verified at every load."""
