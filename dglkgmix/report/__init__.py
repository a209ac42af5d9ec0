"""The report page, its tables and its figures."""
