"""What results say: intervals, verdicts, comparisons, plans, recommendations. Reads typed documents; runs nothing by itself except where a
paper's measure or a plan asks a world to."""
