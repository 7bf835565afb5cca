-- One row for each decision, in the order of commits. The record holds
-- everything, as the exact bytes that were appended; version 2 splits it
-- (schema2.sql), and the bytes are those of its parts together. prev_hash and
-- hash are reserved, always NULL: there is no chain of hashes.
CREATE TABLE decisions (
  seq         INTEGER PRIMARY KEY,
  format      INTEGER NOT NULL,          -- of the record: 1 is JSON without seq
  id          TEXT    NOT NULL,          -- unique, made in the order of time
  time        INTEGER NOT NULL,          -- nanoseconds since 1970, UTC
  uid         INTEGER NOT NULL,
  session     TEXT    NOT NULL,
  agent       TEXT    NOT NULL,
  tool        TEXT    NOT NULL,
  verdict     TEXT    NOT NULL,
  decided_by  TEXT    NOT NULL,
  latency     INTEGER NOT NULL,          -- nanoseconds
  prev_hash   BLOB,                      -- of the row before, when the chain is on
  hash        BLOB,                      -- of this row
  answered_at INTEGER,                   -- when a person answered an ask
  answer      TEXT,                      -- the person's verdict
  answer_info BLOB,                      -- JSON: option, width, choices stored
  record      BLOB    NOT NULL
) STRICT;
