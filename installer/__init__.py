"""Set-up and start: the README's two commands. Standard library only; neighbours: none of the app.

`__main__` checks the Python, `bootstrap` chooses the command, `steps` makes what the stamp says is missing.
"""
