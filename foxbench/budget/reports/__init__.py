"""A validation as text, Markdown, JSON and HTML: one format a file."""
