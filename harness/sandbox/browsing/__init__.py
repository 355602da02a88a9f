"""What runs in the browser's own sandbox: a driver that keeps Chromium, and the small client program of the driver."""
