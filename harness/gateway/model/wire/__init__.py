"""The wire formats: what a request asks, what a reply says, and how an error is worded. Nothing here is sent."""
