"""The forward proxy: what the agent calls by itself over HTTP and HTTPS, through a proxy or thinking it is the host."""
