"""What every SQL database of sessions shares: tables, rows, chains of records, and the queries over them."""
