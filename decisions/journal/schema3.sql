-- Version 3 adds the rejects that the memory had. It changes nothing of version 2.

-- The ids of remembered rejects in force: a memory that was deleted, or replaced
-- by an earlier one, has never heard of some of them.
CREATE TABLE rejects (
  id TEXT PRIMARY KEY
) STRICT, WITHOUT ROWID;
