"""Reading the web without reaching what is not public: `tool-web`."""
