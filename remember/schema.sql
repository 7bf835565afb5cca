-- What permd remembers. Rows are never deleted: a revoked choice stays for the
-- record, with the reason.
CREATE TABLE choices (
  n          INTEGER PRIMARY KEY,
  id         TEXT    NOT NULL UNIQUE,
  uid        INTEGER NOT NULL,           -- whose choice it is
  verdict    TEXT    NOT NULL CHECK (verdict IN ('allow', 'deny')),
  kind       TEXT    NOT NULL,           -- of the effect
  pattern    TEXT    NOT NULL,           -- the rule line as a person reads it, secrets masked
  facts      INTEGER NOT NULL,           -- encoding of the exact facts below digest; 0: matched by pattern
  digest     BLOB,                       -- keyed hash of the exact facts
  pins       BLOB    NOT NULL,           -- JSON: what it is bound to beside the pattern
  scope      TEXT    NOT NULL CHECK (scope IN ('session', 'session+children', 'project', 'user')),
  scope_key  TEXT    NOT NULL,           -- session id or project root, '' for user
  scope_conn INTEGER NOT NULL,           -- connection of the session, 0 for none
  decision   TEXT    NOT NULL,           -- the decision that it answered
  created    INTEGER NOT NULL,           -- nanoseconds since 1970, as all times
  expires    INTEGER,
  uses       INTEGER NOT NULL DEFAULT 0,
  last_used  INTEGER,
  confirmed  INTEGER,                    -- when a person confirmed a client's claim
  revoked    INTEGER,
  revoked_by TEXT                        -- 'person', 'session ended', 'restart'
) STRICT;

CREATE TABLE meta (
  name  TEXT PRIMARY KEY,
  value BLOB NOT NULL
) STRICT;
