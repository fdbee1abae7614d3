"""What runs say together: statistics, comparisons, differences between results, kinds of measures."""
