"""Analysis of results: intervals, verdicts, comparisons, plans, recommendations.

It reads typed documents. Only the papers' measures, fits and sensitivity analyses run experiments.
"""
