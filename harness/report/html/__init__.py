"""The report that people look at: one HTML file that needs nothing else, neither a network nor a library."""

from harness.report.html.page import html_report, write_html

__all__ = ["html_report", "write_html"]
