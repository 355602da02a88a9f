"""How a program is started in a sandbox: its files and variables, and the connection to the launcher inside."""
