"""Tests whether a judge can be manipulated into a pass: texts of known attacks, planted into trials that must fail."""
