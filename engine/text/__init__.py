"""Between characters and tokens: templates, detokenizing, stops, reasoning."""
