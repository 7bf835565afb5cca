-- What people have changed, so that it can be taken back: the newest of each person.
CREATE TABLE changes (
  n      INTEGER PRIMARY KEY,
  id     TEXT    NOT NULL UNIQUE,
  uid    INTEGER NOT NULL,          -- whose choices it changed
  at     INTEGER NOT NULL,          -- nanoseconds since 1970
  what   TEXT    NOT NULL,          -- 'add', 'answer', 'forget', 'change', 'import', 'undo'
  undoes TEXT    NOT NULL DEFAULT ''
) STRICT;

CREATE TABLE changed_choices (
  change INTEGER NOT NULL REFERENCES changes (n),
  choice TEXT    NOT NULL,
  ended  INTEGER NOT NULL           -- 1: it was in force before, 0: it is since
) STRICT;

CREATE INDEX changes_of_person ON changes (uid, n);
CREATE INDEX choices_of_change ON changed_choices (change);
CREATE INDEX changes_of_choice ON changed_choices (choice, change);

-- Of what an ended choice was bound to only the text is erased, so that it can be in force again.
DROP TRIGGER forget_bound;
CREATE TRIGGER forget_bound AFTER UPDATE OF revoked ON choices WHEN NEW.revoked IS NOT NULL AND NEW.bound IS NOT NULL BEGIN
  UPDATE choices SET bound = CASE
    WHEN NOT json_valid(CAST(NEW.bound AS TEXT)) THEN NULL
    WHEN json_extract(CAST(NEW.bound AS TEXT), '$.text') IS NULL THEN NEW.bound
    ELSE CAST(json_set(json_remove(CAST(NEW.bound AS TEXT), '$.text'), '$.erased', json('true')) AS BLOB)
  END WHERE n = NEW.n;
END;
