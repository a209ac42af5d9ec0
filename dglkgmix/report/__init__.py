"""Evidence for people: tables, figures, the report page."""
