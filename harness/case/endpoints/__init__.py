"""What an agent can reach: tools, hosts and models, as a suite declares them."""
