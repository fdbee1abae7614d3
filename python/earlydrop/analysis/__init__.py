"""Statistics over runs, comparisons, differences between results, kinds of measures."""
