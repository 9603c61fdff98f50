"""Theory against simulation against measurement: every claim of both papers, judged with its numbers, in one page.

``python -m paper_checks`` trains, measures, compares and writes ``runs/report/report.html`` and ``report.json``.
"""
