"""Output of results: plots, diagrams of networks, texts, tables, HTML reports."""
