"""The input of `psql` in a service's container, and the parser of its output. No statement can write."""

import json
from typing import Any, NoReturn, cast

from harness.errors import ServiceError
from harness.sandbox.environment import DatabasePlace
from harness.sandbox.sql.tables import Table, Unmeasurable
from harness.values import JsonObject, JsonValue, canonical_json

_READ_ONLY = "begin transaction isolation level repeatable read read only;"
_QUERY = """
select coalesce(json_agg(row_to_json(harness_rows)), '[]'::json) from (
{query}
) harness_rows;
"""
_TABLES = r"""
select format('select json_build_array(%L, %L::json); select json_build_array(%L, %L::json, t) from %s t;',
              shown, key, shown, key, named)
  from (
    select c.oid::regclass::text as named,
           case when n.nspname = 'public' then c.relname else n.nspname || '.' || c.relname end as shown,
           coalesce(
             (select json_agg(a.attname order by k.place) from pg_catalog.pg_index i
                cross join unnest(i.indkey) with ordinality k(number, place)
                join pg_catalog.pg_attribute a on a.attrelid = c.oid and a.attnum = k.number
               where i.indrelid = c.oid and i.indisprimary),
             '[]'::json) as key
      from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
     where c.relkind in ('r', 'p') and not c.relispartition
       and n.nspname <> 'information_schema' and n.nspname not like 'pg\_%') as tables
 where :'wanted' = '[]' or shown in (select json_array_elements_text(:'wanted'::json))
 order by shown
\gexec
"""
_SCRIPT = (
    'printf %s "$1" | PGOPTIONS="-c statement_timeout=$5" LC_MESSAGES=C '
    'psql -X -q -A -t -v ON_ERROR_STOP=1 -v "wanted=$2" -U "$3" -d "$4"'
)


def query_command(place: DatabasePlace, query: str, timeout_s: float) -> list[str]:
    """Prints the query's rows as one JSON list; the time limit of each statement is `timeout_s`."""
    return _command(place, _READ_ONLY + _QUERY.format(query=query.strip().rstrip(";")), "[]", timeout_s)


def tables_command(place: DatabasePlace, tables: tuple[str, ...], timeout_s: float) -> list[str]:
    """Prints the rows of the tables (an empty tuple selects all) for `read_tables`."""
    return _command(place, _READ_ONLY + _TABLES, json.dumps(list(tables)), timeout_s)


def read_rows(printed: bytes) -> list[JsonValue]:
    """Raises ServiceError for output that is not a list."""
    rows = _json(printed)
    if not isinstance(rows, list):
        raise ServiceError("expected the database to print a list of rows, found another form")
    return rows


def read_tables(printed: bytes) -> dict[str, Table]:
    """The tables by name; those outside of the schema `public` as `<schema>.<table>`."""
    keys: dict[str, tuple[str, ...]] = {}
    rows: dict[str, list[JsonObject]] = {}
    for line in printed.splitlines():
        name, key, *row = cast("list[Any]", _json(line))
        keys[name] = tuple(key)
        rows.setdefault(name, []).extend(row)
    return {name: Table(key=key, rows=tuple(rows[name])) for name, key in keys.items()}


def _command(place: DatabasePlace, script: str, wanted: str, timeout_s: float) -> list[str]:
    database = place.postgresql or ""
    return ["sh", "-c", _SCRIPT, "psql", script, wanted, place.user, database, str(round(timeout_s * 1000))]


def _json(text: bytes) -> JsonValue:
    """The JSON of rows, which may have any depth and numbers of any length."""
    try:
        value: JsonValue = json.loads(text, parse_constant=_no_constant)
        canonical_json(value)  # the comparison of rows needs it
    except (ValueError, RecursionError) as error:
        raise Unmeasurable(f"a row cannot be read as JSON: {error}") from None
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON number")
