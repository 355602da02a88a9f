"""Records as Parquet files that DuckDB reads: segments, parts, index, deletion."""
