-- Version 2 adds what lists are found by and what repeated records share. It
-- changes no row of version 1.

-- One row for each mixture of values that lists are filtered by.
CREATE TABLE kinds (
  kind       INTEGER PRIMARY KEY,
  uid        INTEGER NOT NULL,
  session    TEXT    NOT NULL,
  agent      TEXT    NOT NULL,
  tool       TEXT    NOT NULL,
  verdict    TEXT    NOT NULL,
  decided_by TEXT    NOT NULL,
  outcome    TEXT    NOT NULL,           -- '' for none
  oldest     INTEGER NOT NULL,           -- no decision of it has a lower sequence number
  newest     INTEGER NOT NULL            -- sequence number of its newest decision
) STRICT;
CREATE UNIQUE INDEX kinds_values ON kinds (session, tool, agent, uid, verdict, decided_by, outcome);
CREATE INDEX kinds_newest ON kinds (newest, oldest);
-- For journals in which almost every decision is of a kind of its own.
CREATE INDEX kinds_tool ON kinds (tool, newest, oldest);
CREATE INDEX kinds_verdict ON kinds (verdict, newest, oldest);
CREATE INDEX kinds_tool_verdict ON kinds (tool, verdict, newest, oldest);
CREATE INDEX kinds_outcome ON kinds (outcome, newest, oldest) WHERE outcome <> '';

-- The decisions of each kind, in their order.
CREATE TABLE listed (
  kind INTEGER NOT NULL,
  seq  INTEGER NOT NULL,
  time INTEGER NOT NULL,
  PRIMARY KEY (kind, seq)
) STRICT, WITHOUT ROWID;

-- The times of each 1024 decisions: sequence numbers follow the time, but for
-- clocks that jump.
CREATE TABLE spans (
  span   INTEGER PRIMARY KEY,            -- sequence number / 1024
  oldest INTEGER NOT NULL,
  newest INTEGER NOT NULL
) STRICT;

-- What repeated records have in common, see split.go. The sequence number is
-- that of the first of them.
CREATE TABLE bodies (
  first INTEGER PRIMARY KEY,
  text  BLOB NOT NULL
) STRICT;
ALTER TABLE decisions ADD COLUMN shared INTEGER; -- bodies.first, with format 2

-- Which decisions share the body of another one.
CREATE INDEX decisions_shared ON decisions (shared) WHERE shared < seq;

-- Ids begin with their time, so new ones are added at the end.
CREATE INDEX decisions_id ON decisions (substr(id, 1, 18));

-- What retention has removed. It has one row.
CREATE TABLE retained (
  one     INTEGER PRIMARY KEY CHECK (one = 1),
  cut     INTEGER NOT NULL,              -- decisions up to this one are gone, but for those that are needed
  cut_at  INTEGER NOT NULL,              -- the time of that one, 0 for none
  removed INTEGER NOT NULL               -- decisions in all
) STRICT;
INSERT INTO retained VALUES (1, 0, 0, 0);

CREATE TEMP TABLE outcomes AS SELECT seq, CASE
  WHEN instr(record, CAST('"outcome":"' AS BLOB)) > 0 AND json_valid(CAST(record AS TEXT))
  THEN coalesce(json_extract(CAST(record AS TEXT), '$.decision.outcome'), '') ELSE '' END AS outcome FROM decisions;
INSERT INTO kinds (uid, session, agent, tool, verdict, decided_by, outcome, oldest, newest)
  SELECT uid, session, agent, tool, verdict, decided_by, outcome, min(seq), max(seq)
  FROM decisions JOIN outcomes USING (seq) GROUP BY 1, 2, 3, 4, 5, 6, 7;
INSERT INTO listed SELECT k.kind, d.seq, d.time FROM decisions d JOIN outcomes o ON o.seq = d.seq JOIN kinds k
  ON k.session = d.session AND k.tool = d.tool AND k.agent = d.agent AND k.uid = d.uid
  AND k.verdict = d.verdict AND k.decided_by = d.decided_by AND k.outcome = o.outcome;
INSERT INTO spans SELECT seq / 1024, min(time), max(time) FROM decisions GROUP BY 1;
DROP TABLE outcomes;
