"""What runs in the browser's own sandbox: a driver that keeps Chromium, and the small program that asks it."""
