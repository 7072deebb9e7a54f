"""What a session leaves on disk about itself, and how secrets are kept out of it."""
