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
