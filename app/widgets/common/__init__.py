"""Widgets that every page shares: buttons, icons, labels, toasts, errors, empty states."""
