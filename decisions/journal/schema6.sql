-- Version 6 adds the chain of hashes (chain.go): from here on prev_hash and hash of
-- decisions are set. It changes no row of version 5; what those hold is not chained.

-- The chain. It has one row.
CREATE TABLE chain (
  one      INTEGER PRIMARY KEY CHECK (one = 1),
  id       BLOB    NOT NULL,             -- random, 16 bytes: which chain a head belongs to
  start    INTEGER NOT NULL,             -- decisions up to this one came before the chain
  newest   INTEGER NOT NULL,             -- the newest decision, start for none
  entries  INTEGER NOT NULL,             -- in all, with those that were removed
  head     BLOB,                         -- hash of the newest entry, NULL for none
  kept     INTEGER NOT NULL,             -- entries up to retained.cut that are still there
  kept_sum BLOB                          -- sum of their hashes, modulo 2^256; NULL for none
) STRICT;
INSERT INTO chain SELECT 1, randomblob(16), newest, newest, 0, NULL, 0, NULL
  FROM (SELECT max(coalesce((SELECT max(seq) FROM decisions), 0), (SELECT cut FROM retained)) AS newest);

-- The entries of what was added to decisions later: answers, and reports that a call
-- has run or ended.
CREATE TABLE notes (
  n         INTEGER PRIMARY KEY,         -- of the entry, counted from 1
  after     INTEGER NOT NULL,            -- the newest decision that is an entry before
  seq       INTEGER NOT NULL,            -- the decision that it was added to
  kind      INTEGER NOT NULL,            -- as in the spool, see frame.go
  content   BLOB    NOT NULL,            -- hash of what was added
  prev_hash BLOB    NOT NULL,
  hash      BLOB    NOT NULL
) STRICT;
CREATE INDEX notes_after ON notes (after, n);
CREATE INDEX notes_seq ON notes (seq, after);

-- Hash of the newest entry up to retained.cut, which the first that is left continues,
-- NULL while that is no entry; and the number of entries up to it.
ALTER TABLE retained ADD COLUMN hash BLOB;
ALTER TABLE retained ADD COLUMN entries INTEGER NOT NULL DEFAULT 0;
