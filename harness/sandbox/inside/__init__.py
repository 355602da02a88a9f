"""The code that runs inside a sandbox: the launcher. It is stand-alone and imports only modules that load quickly.

Every sandbox pays for the launcher's start, so no `typing`, `socket`, `json` or `subprocess` here, and nothing of the
rest of the harness. The folder is mounted into the sandbox under its own package path; `wire` is used on both sides.
"""
