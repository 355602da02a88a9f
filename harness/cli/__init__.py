"""The command line:
one file a group of verbs, which parse options, call one function, print, and set the exit status.
"""
