"""The HTML report: one self-contained file, without network access or external libraries."""

from harness.report.html.page import html_report, write_html

__all__ = ["html_report", "write_html"]
