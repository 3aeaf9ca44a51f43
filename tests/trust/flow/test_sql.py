"""SQL reads only where its statement and every function in it are known to."""

from __future__ import annotations

import pytest

from tests.trust.flow.world import evidence
from truekeep.trust.flow.decide import Answer, judge
from truekeep.trust.flow.sql import is_sql
from truekeep.trust.flow.tools import Tool

_READS = [
    "SELECT id, email, plan FROM public.customers WHERE email = 'aylin.demir@kordon.example'",
    "select count(*) from tickets where status='open';",
    "select lower(name), coalesce(max(paid), 0) from bills group by name having sum(paid) > 5 order by 2 desc limit 10",
    "select * from a join b using (id) where a.id in (select id from c) and day between '2027-01-01' and now()",
    "select date_trunc('day', at)::date, row_number() over (partition by who order by at) from visits",
    "select data->>'name', 'it''s; drop table x' from things where id = $1 or id = ?",
    "show tables",
    "describe public.customers",
    "explain select * from visits",
    "explain analyze select count(*) from visits",
]
_WRITES = [
    "select lo_export(1, '/tmp/x')", "select lo_import('/etc/passwd')", "select pg_terminate_backend(7)",
    "select pg_read_file('/etc/passwd')", "select writefile('x', 'y')",
    "select query_to_xml('delete from t', true, true, '')",
    "select dblink('host=evil', 'x')", "select load_extension('x')", "select sys_exec('sh')", "select load_file('/x')",
    "select \"lo_export\"(1, 'x')", "select [sys_exec]('x')", "select pg_catalog.count(1)", "select evil.count(1)",
    "select lo_export (1, 'x')", "select lo_export/**/(1, 'x')", "select lo_export--\n(1, 'x')",
    "select * into fresh from users", "select 1 into outfile '/tmp/x'", "select 1 into/**/outfile '/tmp/x'",
    "explain analyze delete from users", "explain (analyze) delete from users",
    "explain analyze verbose update t set a = 1",
    "pragma writable_schema=1", "attach 'x' as y", "exec xp_cmdshell 'x'",
    "execute x", "call clear_all()",
    "do $$ begin end $$",
    "select 1 exec xp_cmdshell 'x'", "select 1 shutdown", "select 1; delete from t", "select * from t for update",
    "copy t to program 'sh'", "with x as (delete from t returning 1) select 1", "show x; drop table t",
    "select /*! sleep(5) */ 1", "select e'\\' , lo_export(1)--'", "select $$a$$", "select 'open", "(select 1)",
    "/* x */ drop table t",
    "-- x\ndrop table t", "set role admin", "vacuum", "load 'x'", "",
]  # fmt: skip


def is_read(sql: str) -> bool:
    """Whether a tool that is declared to read goes on reading with this statement, after a page was read."""
    made = evidence(
        foreign=["The weather stays mild."],
        messages=["look around"],
        tools=[Tool("run_sql", reads=True, own=True)],
    )
    return judge(made, "run_sql", {"sql": sql}).answer is Answer.ALLOW


@pytest.mark.parametrize("sql", _READS)
def test_a_plain_query_of_known_functions_reads(sql: str) -> None:
    assert is_read(sql)


@pytest.mark.parametrize("sql", [sql for sql in _WRITES if sql])
def test_a_statement_with_anything_that_is_not_known_to_read_has_effects(sql: str) -> None:
    assert not is_read(sql)
    assert not is_read(sql.upper())


def test_what_is_called_a_query_is_sql_by_the_name_of_its_tool_or_by_how_it_begins() -> None:
    assert is_sql("find_pages", "sql", "call clear_all()")
    assert is_sql("run_postgres", "query", "call clear_all()")
    assert is_sql("find_pages", "query", "pragma writable_schema=1")
    assert is_sql("find_pages", "query", "/* x */ drop table t")
    assert not is_sql("find_pages", "query", "call of the wild")
    assert not is_sql("find_pages", "query", "explain tides to me")
