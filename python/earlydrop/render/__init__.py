"""What draws and writes results: charts, pictures of networks, texts, tables, pages."""
