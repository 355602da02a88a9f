"""Whether a judge can be talked into a pass: texts of known attacks, planted into trials that must fail."""
