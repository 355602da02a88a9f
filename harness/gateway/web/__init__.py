"""The forward proxy: the agent's own HTTP and HTTPS requests, sent to a proxy or, by name resolution, to the gateway as
the host.
"""
