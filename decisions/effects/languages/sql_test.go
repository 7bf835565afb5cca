package languages

import "testing"

var plainSQLTexts = []string{
	"select 1", "SELECT count(*) FROM t WHERE a IN (1,2);", "select max(a), b from t group by b; select 2;", "with x as (select 1) select * from x",
	"pragma table_info(t)", "explain query plan select 1", "values (1)", "select * from t where name like '%x%' order by a desc limit 3",
	"select json_extract(a, '$.b') from t", "select * from (select 1)", "SELECT substr(snippet(f, 3, '«', '»', '…', 10), 1, 160) FROM f WHERE f MATCH 'reindex*' LIMIT 3;",
	"SELECT sql FROM sqlite_master WHERE name='f';", "select hex(data) from blobs where id like 'a%'", "with recursive c(n) as (values(1) union all select n+1 from c where n < 5) select * from c",
	"pragma user_version", "pragma main.table_info('t')", "select replace(a, 'x', 'y') from t -- a comment", "select /* ; drop */ 'it''s', \"a;b\" from t", "select case when (a > 1) then 2 else (3) end from t",
	"select row_number() over (partition by a order by b) from t", "select count(*) filter (where a) from t", "pragma journal_mode", "explain select 1", "select * from a join b using (id)", "select x'00'",
	"with a as materialized (select 1), b(x) as (select 2) select * from a, b", "select * from pragma_table_info('t')", "select \"update\" from t",
}

var harmfulSQLTexts = []string{
	"", "delete from t", "select 1; drop table t", "insert into t select 1", "with x as (select 1) delete from t", "pragma user_version = 5",
	"pragma writable_schema(1)", "attach 'x' as y", "select load_extension('x')", "select writefile('a', 'b')", "select * from fsdir where path='/'",
	"select edit('a')", "select 1;/* ; */delete from t", "select 1; --\ndelete from t", `select "writefile"('a','b')`, "select [readfile]('a')",
	"vacuum into 'x'", "explain delete from t", "select unknown_function(1)", "update t set a=1", "begin; select 1", "replace into t values (1)",
	"with x as (select 1) replace into t values (1)", "with x as (select 1) insert into t select * from x", "pragma user_version(5)", "pragma page_size(4096)", "pragma journal_mode(wal)", "pragma journal_mode=wal",
	"select * from 'fsdir' where path='/'", "select * from [fsdir]", "select 'a", "select /* 1", "select 1\n.shell id", "select ?", "select :a", "with x as (delete from t returning *) select * from x",
	"with x(a) as (select 1) update t set a=1", "pragma wal_checkpoint", "pragma optimize", "pragma temp_store_directory('x')", "explain pragma user_version(5)", "select * from pragma_user_version(5)", "select writefile\n('a','b')",
	"select writefile/**/('a','b')", "create table x(a)", "select 1 returning x", "select a$b", "select eval('x')", "explain explain select 1", ".tables", "select `writefile`('a','b')", "with writefile('a') as (select 1) delete from t",
	"select 1 from t where with(1)", "select 1, edit(1) as (x) from t", "with x as (select 1) select 1, edit(1) as (x) from t",
}

func TestSQL(t *testing.T) {
	for _, text := range plainSQLTexts {
		if !SQL(text) {
			t.Errorf("%q is not plain", text)
		}
	}
	for _, text := range harmfulSQLTexts {
		if SQL(text) {
			t.Errorf("%q is plain", text)
		}
	}
}

func TestSQLiteCommand(t *testing.T) {
	for _, text := range []string{".tables", ".schema t", ".schema", ".dump a_b", ".headers on", ".mode column", ".tables %x%"} {
		if !SQLiteCommand(text) {
			t.Errorf("%q is not plain", text)
		}
	}
	for _, text := range []string{".shell id", ".system id", ".output x", ".once |sh", ".read x", ".schema\n.shell id", ".tables ; x", ".dump |sh", ".import a b", ".open x", ".load x", ".", ".schema 'x'", ".tab", "tables"} {
		if SQLiteCommand(text) {
			t.Errorf("%q is plain", text)
		}
	}
}
