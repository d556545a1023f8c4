"""Data shipped with the app: icons, themes, translations, catalog. No logic."""
