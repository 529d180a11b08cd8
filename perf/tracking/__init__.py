"""Performance tracking: running suites, judging results, keeping and showing their history."""
