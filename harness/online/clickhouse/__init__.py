"""ClickHouse as the second engine: the tables of the OpenTelemetry Collector's ClickHouse exporter."""
