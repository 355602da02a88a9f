"""The command line. Each verb is a file, which parses options, calls one function, prints, and sets the exit status."""
